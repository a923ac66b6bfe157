//! `playground graph`: the rules of a grammar, or the sub-schemas of a JSON Schema, and which refer to which; or the automaton. As DOT, or drawn as SVG.
//!
//! The drawing is in layers (Sugiyama): a node stands one layer below the first that refers to it (breadth first from the root), within a layer nodes are moved to the mean of
//! their neighbours above, a few rounds. A layer that is too wide goes on in further rows. References that lead up or stay in a row are drawn as curves aside.

use crate::cli::EXIT_CODES;
use crate::failure::{Failure, Verdict};
use crate::options::FileArgs;
use crate::output::Output;
use crate::schema_graph;
use crate::source::{Form, GrammarSource};
use crate::vocabulary;
use maskwright::grammar::{Expr, Grammar};
use maskwright::{CompileOptions, Dump, GrammarCompiler};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use unicode_width::UnicodeWidthStr;

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
    /// The states of the automata, as DOT, instead of rules or sub-schemas
    #[arg(long)]
    pub automaton: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Most rules or sub-schemas that are drawn.
const NODES_MAX: usize = 2000;
/// The width at which a layer goes on in another row, in pixels.
const ROW_WIDTH_MAX: f64 = 1600.0;

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
    if args.automaton {
        let dot = grammar.dump(Dump::Dot);
        match args.json {
            true => output.json(&json!({ "version": 1, "grammar": source.name, "dot": dot })),
            false => output.line(dot.trim_end()),
        }
        return Ok(Verdict::Yes);
    }
    let graph = match (grammar.schema_report(), &source.form) {
        (Some(report), Form::Schema(options)) => schema_graph::graph(report, &source.text, &options.read.pointer),
        _ => Graph::of_rules(grammar.grammar()),
    };
    if args.json {
        let key = if grammar.schema_report().is_some() { "schema" } else { "rule" };
        let nodes = graph.nodes.iter().map(|node| {
            let below: Vec<&str> = node.below.iter().map(|&to| &*graph.nodes[to].name).collect();
            json!({ key: node.name, "refers_to": below })
        });
        output.json(&json!({
            "version": 1,
            "grammar": source.name,
            "root": graph.nodes[graph.root].name,
            format!("{key}s"): nodes.collect::<Vec<_>>(),
        }));
    } else if args.svg {
        let n_nodes = graph.nodes.len();
        if n_nodes > NODES_MAX {
            return Err(Failure::Usage(format!("{n_nodes} boxes are too many to draw; the limit is {NODES_MAX}")));
        }
        output.line(graph.svg().trim_end());
    } else {
        output.line(graph.dot().trim_end());
    }
    Ok(Verdict::Yes)
}

/// A rule or a sub-schema.
pub struct Node {
    /// Its name, which no other node has.
    pub name: String,
    /// What is written in its box.
    pub label: String,
    /// The nodes that it refers to.
    pub below: BTreeSet<usize>,
}

/// Rules or sub-schemas, and which refer to which.
pub struct Graph {
    pub nodes: Vec<Node>,
    pub root: usize,
}

impl Graph {
    fn of_rules(grammar: &Grammar) -> Self {
        let nodes = grammar.rules().iter().map(|rule| {
            let (mut below, mut pending) = (BTreeSet::new(), vec![rule.body]);
            while let Some(id) = pending.pop() {
                match grammar.expr(id) {
                    Expr::Rule(to) => _ = below.insert(to.index()),
                    expr => expr.for_each_operand(|operand| pending.push(operand)),
                }
            }
            let name = crate::expected::shown_rule(&rule.name, rule.span);
            Node { label: name.clone(), name, below }
        });
        Graph { nodes: nodes.collect(), root: grammar.root().index() }
    }

    fn dot(&self) -> String {
        let mut dot = String::from("digraph rules {\n  node [shape=box];\n");
        let quoted = |name: &str| format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
        for (index, node) in self.nodes.iter().enumerate() {
            let mut attributes = Vec::new();
            if index == self.root {
                attributes.push("style=bold".to_owned());
            }
            if node.label != node.name {
                attributes.push(format!("label={}", quoted(&node.label)));
            }
            let shown = if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) };
            _ = writeln!(dot, "  {}{shown};", quoted(&node.name));
        }
        for node in &self.nodes {
            for &to in &node.below {
                _ = writeln!(dot, "  {} -> {};", quoted(&node.name), quoted(&self.nodes[to].name));
            }
        }
        dot + "}\n"
    }

    /// Returns the nodes by layer: the root first, unreachable ones last.
    fn layers(&self) -> Vec<Vec<usize>> {
        let mut layer = vec![usize::MAX; self.nodes.len()];
        let mut layers: Vec<Vec<usize>> = Vec::new();
        let mut current = vec![self.root];
        layer[self.root] = 0;
        while !current.is_empty() {
            let mut next = Vec::new();
            for &from in &current {
                for &to in &self.nodes[from].below {
                    if layer[to] == usize::MAX {
                        layer[to] = layers.len() + 1;
                        next.push(to);
                    }
                }
            }
            layers.push(std::mem::replace(&mut current, next));
        }
        let unreached: Vec<usize> = (0..self.nodes.len()).filter(|&node| layer[node] == usize::MAX).collect();
        if !unreached.is_empty() {
            layers.push(unreached);
        }
        // To the mean of the neighbours above, as a share of the layer's width.
        const ROUNDS: usize = 4;
        for _ in 0..ROUNDS {
            for index in 1..layers.len() {
                let above = layers[index - 1].clone();
                let mean = |node: usize| {
                    let places = above.iter().enumerate().filter(|(_, from)| self.nodes[**from].below.contains(&node));
                    let (sum, n) = places.fold((0, 0), |(sum, n), (place, _)| (sum + place, n + 1));
                    (1000 * sum).checked_div(n).unwrap_or(usize::MAX)
                };
                let mut keyed: Vec<(usize, usize)> = layers[index].iter().map(|&node| (mean(node), node)).collect();
                keyed.sort_by_key(|&(mean, _)| mean);
                layers[index] = keyed.into_iter().map(|(_, node)| node).collect();
            }
        }
        layers
    }

    fn svg(&self) -> String {
        let (char_width, pad, gap, height, row_height) = (8.0, 12.0, 20.0, 28.0, 76.0);
        let width_of = |node: usize| 2.0 * pad + char_width * self.nodes[node].label.width() as f64;
        let mut rows: Vec<Vec<usize>> = Vec::new();
        for layer in self.layers() {
            let (mut row, mut width) = (Vec::new(), gap);
            for node in layer {
                if !row.is_empty() && width + width_of(node) + gap > ROW_WIDTH_MAX {
                    rows.push(std::mem::take(&mut row));
                    width = gap;
                }
                width += width_of(node) + gap;
                row.push(node);
            }
            rows.push(row);
        }
        let layers = rows;
        let width = |layer: &Vec<usize>| layer.iter().map(|&node| width_of(node) + gap).sum::<f64>() + gap;
        // Arrows aside a box reach a little beyond it.
        let total = layers.iter().map(width).fold(0.0, f64::max) + 2.0 * gap;
        let mut centre = vec![(0.0, 0.0); self.nodes.len()];
        for (index, layer) in layers.iter().enumerate() {
            let mut x = (total - width(layer)) / 2.0 + gap;
            for &node in layer {
                centre[node] = (x + width_of(node) / 2.0, gap + row_height * index as f64 + height / 2.0);
                x += width_of(node) + gap;
            }
        }
        let total_height = row_height * layers.len() as f64;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{total:.0}\" height=\"{total_height:.0}\" viewBox=\"0 0 {total:.0} {total_height:.0}\" font-family=\"monospace\" font-size=\"13\">\n\
             <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"#666\"/></marker></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        );
        for (from, node) in self.nodes.iter().enumerate() {
            for &to in &node.below {
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
        for (index, node) in self.nodes.iter().enumerate() {
            let ((x, y), width) = (centre[index], width_of(index));
            let stroke = if index == self.root { 2.5 } else { 1.0 };
            let escaped = node.label.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
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
