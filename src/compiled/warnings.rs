//! Warnings about the schemas of a grammar, with their places in the text of the grammar.

use crate::grammar::analysis::reachable_exprs;
use crate::grammar::{Expr, ExprId, Grammar, SchemaOperand, Warning};
use crate::json_schema::{Json, SchemaReport, SchemaWarning};
use crate::limits::Limits;
use crate::util::Span;
use hashbrown::{HashMap, HashSet};

/// Returns the warnings about a schema that is no operand of a grammar.
pub(crate) fn schema_warnings(report: &SchemaReport) -> impl Iterator<Item = Warning> {
    report.warnings().into_iter().map(|warning| Warning::of_schema(warning.mistake_span(), warning.to_string()))
}

/// Returns the warnings about the schemas among the operands of a grammar: of each schema at each of its places, with the JSON pointer if the grammar is that of a document.
pub(crate) fn operand_warnings<'r>(
    grammar: &Grammar,
    reports: impl Iterator<Item = (&'r SchemaOperand, &'r SchemaReport)>,
) -> Vec<Warning> {
    let found = reports.map(|(operand, report)| (operand, report.warnings()));
    let found: HashMap<_, _> = found.filter(|(_, warnings)| !warnings.is_empty()).collect();
    if found.is_empty() {
        return Vec::new();
    }
    // The text of a structural tag is JSON; that of a grammar never is.
    let json = grammar.source().and_then(document);
    let (mut warnings, mut seen) = (Vec::new(), HashSet::new());
    for (index, is_reachable) in reachable_exprs(grammar).into_iter().enumerate() {
        let id = ExprId::new(index);
        let Expr::Schema(operand) = grammar.expr(id) else { continue };
        let Some(of_schema) = found.get(operand).filter(|_| is_reachable) else { continue };
        for warning in of_schema {
            let placed = Placed::new(grammar, json.as_ref(), grammar.span(id), operand, warning);
            // A schema may be an operand in several forms.
            if seen.insert(placed.clone()) {
                warnings.push(placed.warning());
            }
        }
    }
    warnings
}

/// Reads the text of a grammar again if it is a document: it was within the limits that it was read with.
fn document(source: &str) -> Option<Json> {
    let limits = Limits {
        source_bytes_max: usize::MAX,
        json_nesting_max: usize::MAX,
        json_values_max: usize::MAX,
        number_digits_max: usize::MAX,
        ..Limits::default()
    };
    Json::parse(source, &limits).ok()
}

/// A warning about a schema with its place in the text of the grammar.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Placed {
    pointer: Option<String>,
    span: Option<Span>,
    message: String,
}

impl Placed {
    fn new(
        grammar: &Grammar,
        json: Option<&Json>,
        place: Option<Span>,
        operand: &SchemaOperand,
        warning: &SchemaWarning,
    ) -> Self {
        let source = grammar.source().unwrap_or_default();
        if let (Some(json), Some(place), Some(span)) = (json, place, warning.span())
            && let Some(schema) = json.schema_around(place, operand.text())
        {
            let value = json.value_within(schema, Some(span));
            let hint = warning.hint().map_or(String::new(), |hint| format!("; {hint}"));
            let message = format!("{}{hint}", warning.message());
            return Placed { pointer: Some(json.pointer(value)), span: Some(json.span(value)), message };
        }
        // An operand of EBNF or Lark stands in the text as it is.
        let inner = place.zip(warning.mistake_span()).and_then(|(place, span)| operand.span_in(source, place, span));
        let span = inner.or(place);
        Placed { pointer: None, span, message: format!("in a JSON Schema of the grammar: {warning}") }
    }

    fn warning(self) -> Warning {
        let Placed { pointer, span, message } = self;
        Warning::of_operand(pointer.as_deref(), span, message)
    }
}
