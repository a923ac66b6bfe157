use maskwright::json_schema::*;
use maskwright::*;
use std::io::BufRead;
use std::sync::Arc;
use std::time::*;
fn strip(text: &str) -> String {
    let (mut out, mut inside, mut esc) = (String::new(), false, false);
    for c in text.chars() {
        if inside {
            out.push(c);
            if esc {
                esc = false
            } else if c == '\\' {
                esc = true
            } else if c == '"' {
                inside = false
            }
        } else if c == '"' {
            inside = true;
            out.push(c)
        } else if c == ',' {
            out.push_str(", ")
        } else if c == ':' {
            out.push_str(": ")
        } else if !c.is_whitespace() {
            out.push(c)
        }
    }
    out
}
fn main() {
    let only = std::env::args().nth(1);
    let step: usize = std::env::var("STEP").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let vocab: Vec<Vec<u8>> = (0..=255u8).map(|b| vec![b]).collect();
    let vocab = Arc::new(Vocab::from_tokens(vocab).unwrap());
    let file = std::fs::File::open("../shared/data/maskbench-dev.jsonl.gz").unwrap();
    let reader = std::io::BufReader::new(flate2::read::GzDecoder::new(file));
    let limits = Limits::default();
    let (mut ok, mut refused, mut va, mut vr, mut ia, mut ir) = (0, 0, 0, 0, 0, 0);
    let mut slow = vec![];
    let mut reasons: std::collections::BTreeMap<String, usize> = Default::default();
    let total = Instant::now();
    for (n, line) in reader.lines().enumerate() {
        let line = line.unwrap();
        if n % step != 0 {
            continue;
        }
        let json = Json::parse(&line, &limits).unwrap();
        let id = match json.value(json.member(json.root(), "id").unwrap()) {
            Value::String(s) => s.to_owned(),
            _ => panic!(),
        };
        if let Some(only) = &only {
            if !id.contains(only.as_str()) {
                continue;
            }
        }
        let span = |v: ValueId| {
            let s = json.span(v);
            &line[s.start as usize..s.end as usize]
        };
        let schema = span(json.member(json.root(), "schema").unwrap());
        let t = Instant::now();
        let compiler = GrammarCompiler::builder(vocab.clone()).build();
        let options = CompileOptions { deadline: Some(Instant::now() + Duration::from_secs(5)), ..Default::default() };
        let r = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            compiler.compile_json_schema_with(schema, &SchemaOptions::default(), &options)
        }));
        slow.push((t.elapsed(), id.clone()));
        let g = match r {
            Err(_) => {
                println!("PANIC {id}");
                refused += 1;
                continue;
            }
            Ok(Err(e)) => {
                refused += 1;
                let m = e.to_string();
                let key: String = m.split(" at ").next().unwrap_or("").chars().take(60).collect::<String>()
                    + " .. "
                    + &m.chars().rev().take(70).collect::<String>().chars().rev().collect::<String>();
                println!("REFUSED {id} {}", m.chars().take(200).collect::<String>());
                *reasons.entry(key).or_default() += 1;
                continue;
            }
            Ok(Ok(g)) => g,
        };
        ok += 1;
        if let Value::Array(tests) = json.value(json.member(json.root(), "tests").unwrap()) {
            for &t in tests {
                let valid = matches!(json.value(json.member(t, "valid").unwrap()), Value::Bool(true));
                let data = strip(span(json.member(t, "data").unwrap()));
                let mut m = g.matcher();
                let mut at = data.len();
                for (i, b) in data.bytes().enumerate() {
                    if m.accept_token(b as u32).is_err() {
                        at = i;
                        break;
                    }
                }
                let good = at == data.len() && m.is_accepting();
                match (valid, good) {
                    (true, true) => va += 1,
                    (false, false) => ir += 1,
                    (true, false) => {
                        vr += 1;
                        println!(
                            "VALID REFUSED {id} at {at}: {} >>> {}",
                            &String::from_utf8_lossy(&data.as_bytes()[at.saturating_sub(60)..at]),
                            String::from_utf8_lossy(&data.as_bytes()[at..(at + 40).min(data.len())])
                        );
                    }
                    (false, true) => {
                        ia += 1;
                        println!("INVALID ACCEPTED {id}: {}", data.chars().take(300).collect::<String>());
                    }
                }
            }
        }
    }
    slow.sort();
    slow.reverse();
    for (t, id) in slow.iter().take(12) {
        println!("slow {t:?} {id}")
    }
    let n = slow.len();
    println!("compile p50 {:?} p90 {:?} p99 {:?}", slow[n / 2].0, slow[n / 10].0, slow[n / 100].0);
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|r| std::cmp::Reverse(r.1));
    for (r, c) in reasons.iter().take(30) {
        println!("{c} {r}")
    }
    println!(
        "compiled {ok} refused {refused} valid ok {va} valid refused {vr} invalid ok {ir} invalid accepted {ia} in {:?}",
        total.elapsed()
    );
}
