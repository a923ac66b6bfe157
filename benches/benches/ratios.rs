//! Figures of each engine and ratios to this repository's: a table on standard output and, with `--json PATH`, a file.
//!
//! Options, after `--`: `--vocabulary NAME`, `--case NAME`, `--engine NAME` (each may repeat), `--repeats N`, `--json PATH`,
//! `--without SHORT_CUT` (a short cut of this repository's engine that is turned off, to see what it buys).

use std::process::ExitCode;

use maskwright_bench::timing::{Figures, Repeats, measure};
use maskwright_bench::verify::{Differences, Masks, differences, documents, first_difference};
use maskwright_bench::{CASES, Case, Engine, Vocabulary};
use serde_json::{Value, json};

/// The engine whose masks and timings the others are compared with.
const OURS: &str = "maskwright";

/// Names that `--vocabulary` takes.
const VOCABULARIES: [&str; 2] = ["cl100k_base", "o200k_base"];

/// Names that `--engine` takes: those that were built in.
const ENGINES: &[&str] = &[
    #[cfg(feature = "ours")]
    OURS,
    #[cfg(feature = "llguidance")]
    "llguidance",
    #[cfg(feature = "xgrammar")]
    "xgrammar",
];

#[derive(Default)]
struct Options {
    vocabularies: Vec<String>,
    cases: Vec<String>,
    engines: Vec<String>,
    repeats: Option<usize>,
    json: Option<String>,
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let mut report = Report::default();
    for vocabulary in [Vocabulary::cl100k(), Vocabulary::o200k()] {
        if wanted(&options.vocabularies, vocabulary.name) {
            #[cfg(feature = "ours")]
            report.engine::<maskwright_bench::ours::Ours>(&vocabulary, &options);
            #[cfg(feature = "llguidance")]
            report.engine::<maskwright_bench::llguidance::Llguidance>(&vocabulary, &options);
            #[cfg(feature = "xgrammar")]
            report.engine::<maskwright_bench::xgrammar::Xgrammar>(&vocabulary, &options);
            report.compare(&vocabulary);
        }
    }
    report.print();
    if let Some(path) = &options.json
        && let Err(error) = std::fs::write(path, format!("{:#}\n", report.json()))
    {
        eprintln!("{path}: {error}");
        return ExitCode::from(2);
    }
    if report.ours_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn options() -> Result<Options, String> {
    let mut options = Options::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} takes a value"));
        match argument.as_str() {
            "--vocabulary" => options.vocabularies.push(value()?),
            "--case" => options.cases.push(value()?),
            "--engine" => options.engines.push(value()?),
            "--repeats" => options.repeats = Some(value()?.parse().map_err(|error| format!("--repeats: {error}"))?),
            "--json" => options.json = Some(value()?),
            #[cfg(feature = "ours")]
            "--without" => maskwright_bench::ours::short_cut(&value()?)?.set(false),
            "--bench" => {} // cargo adds it
            _ => return Err(format!("unknown option {argument}")),
        }
    }
    for name in &options.vocabularies {
        known(name, &VOCABULARIES, "vocabulary")?;
    }
    for name in &options.cases {
        known(name, &CASES.iter().map(|case| case.name).collect::<Vec<_>>(), "case")?;
    }
    for name in &options.engines {
        known(name, ENGINES, "engine")?;
    }
    Ok(options)
}

fn known(name: &str, names: &[&str], what: &str) -> Result<(), String> {
    if names.contains(&name) { Ok(()) } else { Err(format!("no {what} {name}; there are {}", names.join(", "))) }
}

fn wanted(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|given| given == name)
}

/// Sum of one figure over the steps of a case.
type Total = fn(&Figures) -> f64;

struct Line {
    vocabulary: &'static str,
    case: &'static Case,
    engine: &'static str,
    masks: Vec<Masks>,
    figures: Figures,
}

#[derive(Default)]
struct Report {
    lines: Vec<Line>,
    notes: Vec<String>,
    differences: Vec<(&'static str, &'static str, [&'static str; 2], Differences)>,
    ours_failed: bool,
}

impl Report {
    #[allow(dead_code)] // all engines may be switched off
    fn engine<E: Engine>(&mut self, vocabulary: &Vocabulary, options: &Options) {
        if !wanted(&options.engines, E::NAME) {
            return;
        }
        let n = options.repeats.unwrap_or(5).max(1);
        let mut engine = E::load(vocabulary);
        for case in CASES.iter().filter(|case| wanted(&options.cases, case.name)) {
            eprintln!("{}/{}/{}", case.name, vocabulary.name, E::NAME);
            match documents(&engine, vocabulary, case) {
                Ok(masks) => {
                    let figures = measure(&mut engine, vocabulary, case, Repeats { cold: n, warm: n });
                    self.lines.push(Line { vocabulary: vocabulary.name, case, engine: E::NAME, masks, figures });
                }
                Err(error) => {
                    self.ours_failed |= E::NAME == OURS;
                    self.notes.push(format!("not timed: {} with {}: {error}", E::NAME, vocabulary.name));
                }
            }
        }
    }

    /// Compares masks of one vocabulary case by case, with the first engine that has them, and drops them.
    fn compare(&mut self, vocabulary: &Vocabulary) {
        for case in CASES {
            let mut lines =
                self.lines.iter().filter(|line| line.vocabulary == vocabulary.name && line.case.name == case.name);
            let Some(first) = lines.next() else { continue };
            for other in lines {
                let names = [first.engine, other.engine];
                self.differences.push((vocabulary.name, case.name, names, differences(&first.masks, &other.masks)));
                if let Some(place) = first_difference(vocabulary, case, &first.masks, &other.masks) {
                    self.notes.push(format!("{} and {} ({}): {place}", names[0], names[1], vocabulary.name));
                }
            }
        }
        self.lines.iter_mut().for_each(|line| line.masks = Vec::new());
    }

    /// Returns the line of this repository's engine for the same case and vocabulary.
    fn ours(&self, line: &Line) -> Option<&Line> {
        self.lines.iter().find(|l| l.engine == OURS && l.vocabulary == line.vocabulary && l.case.name == line.case.name)
    }

    fn print(&self) {
        let titles = Figures::default().columns().map(|(name, _)| name);
        println!("microseconds; least of the repeats; one thread");
        print!("{:28} {:11} {:>6}", "case/vocabulary", "engine", "steps");
        titles.iter().for_each(|title| print!(" {title:>13}"));
        println!();
        for line in &self.lines {
            print!(
                "{:28} {:11} {:>6}",
                format!("{}/{}", line.case.name, line.vocabulary),
                line.engine,
                line.figures.n_steps
            );
            line.figures.columns().iter().for_each(|(_, value)| print!(" {value:>13.2}"));
            println!();
        }
        if self.lines.iter().any(|line| line.engine == OURS) {
            println!("\nratios: how many times as long a peer takes as {OURS}");
            for line in self.lines.iter().filter(|line| line.engine != OURS) {
                let Some(ours) = self.ours(line) else { continue };
                print!("{:28} {:11} {:>6}", format!("{}/{}", line.case.name, line.vocabulary), line.engine, "");
                for ((_, peer), (_, own)) in line.figures.columns().into_iter().zip(ours.figures.columns()) {
                    print!(" {:>13.2}", peer / own);
                }
                println!();
            }
        }
        for (name, mean) in self.overall() {
            println!("\n{name}");
            let own = mean.iter().find(|(engine, _)| *engine == OURS).map(|(_, value)| *value);
            for (engine, value) in mean {
                let ratio =
                    own.filter(|_| engine != OURS).map_or(String::new(), |own| format!("{:>10.2}x", value / own));
                println!("  {engine:11} {value:>13.3}{ratio}");
            }
        }
        println!("\nmasks: compared, unequal, bits only in the first, bits only in the second");
        for (vocabulary, case, names, d) in &self.differences {
            let id = format!("{case}/{vocabulary}");
            let who = names.join(" and ");
            println!(
                "{id:20} {who:26} {:>6} {:>6} {:>10} {:>10}",
                d.n_masks, d.n_masks_unequal, d.only_first, d.only_second
            );
        }
        self.notes.iter().for_each(|note| println!("{note}"));
    }

    /// The two figures over all steps of all cases, per vocabulary and engine, over the cases that every engine of the table has.
    fn overall(&self) -> Vec<(String, Vec<(&'static str, f64)>)> {
        let mut rows = Vec::new();
        for vocabulary in VOCABULARIES {
            let lines: Vec<&Line> = self.lines.iter().filter(|line| line.vocabulary == vocabulary).collect();
            let mut engines: Vec<&'static str> = Vec::new();
            lines.iter().for_each(|line| {
                if !engines.contains(&line.engine) {
                    engines.push(line.engine)
                }
            });
            let of_all =
                |case: &Case| engines.iter().all(|e| lines.iter().any(|l| l.engine == *e && l.case.name == case.name));
            let mean = |engine: &str, total: Total| {
                let mine = || lines.iter().filter(|line| line.engine == engine && of_all(line.case));
                mine().map(|line| total(&line.figures)).sum::<f64>()
                    / mine().map(|line| line.figures.n_steps as f64).sum::<f64>()
            };
            if !CASES.iter().any(of_all) || lines.is_empty() {
                continue;
            }
            let figures: [(&str, Total); 3] = [
                ("warm mask + accept, mean over all steps", |f| f.warm_mean * f.n_steps as f64),
                ("cold pass, compile included, mean over all steps", |f| f.cold_pass),
                ("cold requests, compile included, mean over all steps", |f| f.cold_requests),
            ];
            for (name, total) in figures {
                let values = engines.iter().map(|&engine| (engine, mean(engine, total))).collect();
                rows.push((format!("{name}, {vocabulary} (us)"), values));
            }
        }
        rows
    }

    fn json(&self) -> Value {
        let lines = self.lines.iter().map(|line| {
            let mut value = json!({
                "case": line.case.name, "vocabulary": line.vocabulary, "engine": line.engine, "n_steps": line.figures.n_steps,
            });
            for (name, figure) in line.figures.columns() {
                value[format!("{name}_us")] = json!(figure);
                if let Some(ours) = self.ours(line)
                    && line.engine != OURS
                {
                    let own = ours.figures.columns().into_iter().find(|(n, _)| *n == name).map(|(_, v)| v);
                    value[format!("{name}_ratio")] = json!(own.map(|own| figure / own));
                }
            }
            value
        });
        let differences = self.differences.iter().map(|(vocabulary, case, names, d)| {
            json!({
                "case": case, "vocabulary": vocabulary, "engines": names, "n_masks": d.n_masks,
                "n_masks_unequal": d.n_masks_unequal, "only_first": d.only_first, "only_second": d.only_second,
            })
        });
        let overall = self.overall().into_iter().map(|(name, values)| {
            json!({ "figure": name, "us": values.into_iter().map(|(e, v)| (e.to_string(), json!(v))).collect::<serde_json::Map<_, _>>() })
        });
        json!({
            "lines": lines.collect::<Vec<_>>(),
            "overall": overall.collect::<Vec<_>>(),
            "masks": differences.collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}
