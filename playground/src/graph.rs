//! `playground graph`: the rules of a grammar and which refer to which, or the automaton; as DOT, or drawn as SVG.
//!
//! The drawing is in layers (Sugiyama): a rule stands one layer below the first that refers to it (breadth first from the root), within a layer rules are moved to the mean of
//! their neighbours above, a few rounds. References that lead up or stay in a layer are drawn as curves aside.

use crate::cli::EXIT_CODES;
use crate::failure::{Failure, Verdict};
use crate::options::FileArgs;
use crate::output::{Output, harmless};
use crate::source::GrammarSource;
use crate::vocabulary;
use maskwright::grammar::{Expr, Grammar};
use maskwright::{CompileOptions, Dump, GrammarCompiler};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

/// Options of `graph`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = EXIT_CODES,
    override_usage = "playground graph [OPTIONS] GRAMMAR_FILE\n       playground graph [OPTIONS] --regex PATTERN"
)]
pub struct Args {
    #[command(flatten)]
    pub file: FileArgs,
    /// Print a drawing as SVG instead of DOT
    #[arg(long, conflicts_with_all = ["automaton", "json"])]
    pub svg: bool,
    /// The states of the automata instead of rules (for a JSON Schema always)
    #[arg(long)]
    pub automaton: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Most rules that are drawn.
const RULES_MAX: usize = 2000;

/// Runs the command.
///
/// # Errors
/// If the grammar can't be read or compiled, or has no rules to draw.
pub fn run(args: &Args, output: &mut Output) -> Result<Verdict, Failure> {
    let source = GrammarSource::read(&args.file.grammar, args.file.file.as_deref())?;
    let parsed: Vec<_> = source.parsed().into_iter().collect();
    let compiler = GrammarCompiler::new(Arc::new(vocabulary::of_bytes(&parsed)?));
    let compiled = source.compile_with(&compiler, &CompileOptions::default());
    let grammar = compiled.map_err(|error| source.failure(error))?;
    let is_schema = grammar.schema_report().is_some();
    if args.svg && is_schema {
        return Err(Failure::Usage(
            "a JSON Schema has no rules to draw; without --svg its automaton is printed".into(),
        ));
    }
    if args.automaton || is_schema {
        let dot = grammar.dump(Dump::Dot);
        match args.json {
            true => output.json(&json!({ "version": 1, "grammar": source.name, "dot": dot })),
            false => output.line(dot.trim_end()),
        }
        return Ok(Verdict::Yes);
    }
    let graph = Graph::new(grammar.grammar());
    if args.json {
        let rules = graph.names.iter().zip(&graph.below).map(|(name, below)| {
            json!({ "rule": name, "refers_to": below.iter().map(|&to| &graph.names[to]).collect::<Vec<_>>() })
        });
        output.json(&json!({
            "version": 1,
            "grammar": source.name,
            "root": graph.names[graph.root],
            "rules": rules.collect::<Vec<_>>(),
        }));
    } else if args.svg {
        if graph.names.len() > RULES_MAX {
            let n_rules = graph.names.len();
            return Err(Failure::Usage(format!("{n_rules} rules are too many to draw; the limit is {RULES_MAX}")));
        }
        output.line(graph.svg().trim_end());
    } else {
        output.line(graph.dot().trim_end());
    }
    Ok(Verdict::Yes)
}

/// Rules, and which refer to which.
struct Graph {
    names: Vec<String>,
    below: Vec<BTreeSet<usize>>,
    root: usize,
}

impl Graph {
    fn new(grammar: &Grammar) -> Self {
        let names = grammar.rules().iter().map(|rule| harmless(&rule.name)).collect();
        let below = grammar.rules().iter().map(|rule| {
            let (mut found, mut pending) = (BTreeSet::new(), vec![rule.body]);
            while let Some(id) = pending.pop() {
                match grammar.expr(id) {
                    Expr::Rule(to) => _ = found.insert(to.index()),
                    expr => expr.for_each_operand(|operand| pending.push(operand)),
                }
            }
            found
        });
        Graph { names, below: below.collect(), root: grammar.root().index() }
    }

    fn dot(&self) -> String {
        let mut dot = String::from("digraph rules {\n  node [shape=box];\n");
        let quoted = |name: &str| format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
        for (index, name) in self.names.iter().enumerate() {
            let bold = if index == self.root { " [style=bold]" } else { "" };
            _ = writeln!(dot, "  {}{bold};", quoted(name));
        }
        for (from, below) in self.below.iter().enumerate() {
            for &to in below {
                _ = writeln!(dot, "  {} -> {};", quoted(&self.names[from]), quoted(&self.names[to]));
            }
        }
        dot + "}\n"
    }

    /// Returns the rules by layer: the root first, unreachable rules last.
    fn layers(&self) -> Vec<Vec<usize>> {
        let mut layer = vec![usize::MAX; self.names.len()];
        let mut layers: Vec<Vec<usize>> = Vec::new();
        let mut current = vec![self.root];
        layer[self.root] = 0;
        while !current.is_empty() {
            let mut next = Vec::new();
            for &from in &current {
                for &to in &self.below[from] {
                    if layer[to] == usize::MAX {
                        layer[to] = layers.len() + 1;
                        next.push(to);
                    }
                }
            }
            layers.push(std::mem::replace(&mut current, next));
        }
        let unreached: Vec<usize> = (0..self.names.len()).filter(|&rule| layer[rule] == usize::MAX).collect();
        if !unreached.is_empty() {
            layers.push(unreached);
        }
        // To the mean of the neighbours above, as a share of the layer's width.
        const ROUNDS: usize = 4;
        for _ in 0..ROUNDS {
            for index in 1..layers.len() {
                let above = layers[index - 1].clone();
                let mean = |rule: usize| {
                    let places = above.iter().enumerate().filter(|(_, from)| self.below[**from].contains(&rule));
                    let (sum, n) = places.fold((0, 0), |(sum, n), (place, _)| (sum + place, n + 1));
                    (1000 * sum).checked_div(n).unwrap_or(usize::MAX)
                };
                let mut keyed: Vec<(usize, usize)> = layers[index].iter().map(|&rule| (mean(rule), rule)).collect();
                keyed.sort_by_key(|&(mean, _)| mean);
                layers[index] = keyed.into_iter().map(|(_, rule)| rule).collect();
            }
        }
        layers
    }

    fn svg(&self) -> String {
        let (char_width, pad, gap, height, layer_height) = (8.0, 12.0, 20.0, 28.0, 76.0);
        let layers = self.layers();
        let width_of = |rule: usize| 2.0 * pad + char_width * self.names[rule].chars().count() as f64;
        let width = |layer: &Vec<usize>| layer.iter().map(|&rule| width_of(rule) + gap).sum::<f64>() + gap;
        let total = layers.iter().map(width).fold(0.0, f64::max);
        let mut centre = vec![(0.0, 0.0); self.names.len()];
        for (index, layer) in layers.iter().enumerate() {
            let mut x = (total - width(layer)) / 2.0 + gap;
            for &rule in layer {
                centre[rule] = (x + width_of(rule) / 2.0, gap + layer_height * index as f64 + height / 2.0);
                x += width_of(rule) + gap;
            }
        }
        let total_height = layer_height * layers.len() as f64;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{total:.0}\" height=\"{total_height:.0}\" viewBox=\"0 0 {total:.0} {total_height:.0}\" font-family=\"monospace\" font-size=\"13\">\n\
             <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"#666\"/></marker></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        );
        for (from, below) in self.below.iter().enumerate() {
            for &to in below {
                let ((x1, y1), (x2, y2)) = (centre[from], centre[to]);
                let path = if from == to {
                    let right = x1 + width_of(from) / 2.0;
                    format!("M{right:.0} {:.0} c26 -16 26 26 0 12", y1 - 6.0)
                } else if y2 > y1 {
                    let (start, end) = (y1 + height / 2.0, y2 - height / 2.0);
                    let middle = (start + end) / 2.0;
                    format!("M{x1:.0} {start:.0} C{x1:.0} {middle:.0} {x2:.0} {middle:.0} {x2:.0} {end:.0}")
                } else {
                    let side = if x2 >= x1 { 1.0 } else { -1.0 };
                    let (start, end) = (x1 + side * width_of(from) / 2.0, x2 + side * width_of(to) / 2.0);
                    let bend = side * 40.0;
                    format!(
                        "M{start:.0} {y1:.0} C{:.0} {y1:.0} {:.0} {y2:.0} {end:.0} {y2:.0}",
                        start + bend,
                        end + bend
                    )
                };
                let dash = if y2 > y1 { "" } else { " stroke-dasharray=\"4 3\"" };
                _ = writeln!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"#666\"{dash} marker-end=\"url(#tip)\"/>");
            }
        }
        for (rule, name) in self.names.iter().enumerate() {
            let ((x, y), width) = (centre[rule], width_of(rule));
            let stroke = if rule == self.root { 2.5 } else { 1.0 };
            let escaped = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            _ = writeln!(
                svg,
                "<rect x=\"{:.0}\" y=\"{:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"4\" fill=\"#eef3fb\" stroke=\"#335\" stroke-width=\"{stroke}\"/><text x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{escaped}</text>",
                x - width / 2.0,
                y - height / 2.0,
                y + 4.5
            );
        }
        svg + "</svg>\n"
    }
}
