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
    let step: usize = std::env::var("STEP").ok().and_then(|s| s.parse().ok()).unwrap_or(40);
    let vocab = Arc::new(Vocab::tiktoken(Encoding::Cl100kBase).unwrap());
    let bpe = tiktoken_rs::cl100k_base().unwrap();
    let compiler = GrammarCompiler::builder(vocab.clone())
        .config(Config { grammar_cache_bytes_max: 0, ..Default::default() })
        .build();
    let file = std::fs::File::open("../shared/data/maskbench-dev.jsonl.gz").unwrap();
    let reader = std::io::BufReader::new(flate2::read::GzDecoder::new(file));
    let limits = Limits::default();
    let mut times: Vec<(Duration, String)> = vec![];
    let mut compiles: Vec<(Duration, String)> = vec![];
    let mut cats: std::collections::BTreeMap<(u64, u32), (u64, Duration)> = Default::default();
    let mut row = vec![0u32; vocab.n_mask_words()];
    let lines: Vec<String> =
        reader.lines().map(|l| l.unwrap()).enumerate().filter(|(n, _)| n % step == 0).map(|(_, l)| l).collect();
    for line in &lines {
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
        let options = CompileOptions { deadline: Some(Instant::now() + Duration::from_secs(5)), ..Default::default() };
        let Ok(g) = compiler.compile_json_schema_with(schema, &SchemaOptions::default(), &options) else { continue };
        let mut m = g.matcher();
        let _ = m.fill_mask(&mut row);
        compiles.push((t.elapsed(), id.clone()));
        if let Value::Array(tests) = json.value(json.member(json.root(), "tests").unwrap()) {
            for &t in tests {
                let data = strip(span(json.member(t, "data").unwrap()));
                let mut m = g.matcher();
                for (i, tok) in bpe.encode_ordinary(&data).into_iter().enumerate() {
                    let before = compiler.stats().masks;
                    let t = Instant::now();
                    let _ = m.fill_mask(&mut row);
                    let tf = t.elapsed();
                    let after = compiler.stats().masks;
                    let misses = after.misses - before.misses;
                    let e = cats
                        .entry((misses.min(4), (after.nodes_walked - before.nodes_walked + 1).ilog2()))
                        .or_insert((0u64, Duration::ZERO));
                    e.0 += 1;
                    e.1 += tf;
                    let t = Instant::now() - tf;
                    let ok = m.accept_token(tok as u32).is_ok();
                    times.push((
                        t.elapsed(),
                        format!(
                            "{id} step {i} {:?} live {}",
                            String::from_utf8_lossy(vocab.bytes(tok as u32)),
                            m.n_live()
                        ),
                    ));
                    if !ok {
                        break;
                    }
                }
            }
        }
    }
    for (name, mut v) in [("mask+accept", times), ("compile+first", compiles)] {
        v.sort();
        v.reverse();
        for (t, id) in v.iter().skip(v.len() / 200).step_by(v.len() / 3000 + 1).take(40) {
            println!("slow {t:?} {id}")
        }
        let n = v.len();
        let sum: Duration = v.iter().map(|x| x.0).sum();
        println!(
            "{name}: n {n} avg {:?} p50 {:?} p90 {:?} p99 {:?} p99.9 {:?}",
            sum / n as u32,
            v[n / 2].0,
            v[n / 10].0,
            v[n / 100].0,
            v[n / 1000].0
        );
    }
    for (k, v) in &cats {
        println!("misses {} nodes 2^{}: {} steps, total {:?}, avg {:?}", k.0, k.1, v.0, v.1, v.1 / v.0 as u32)
    }
    println!("{:?}", compiler.stats());
}
