//! Places within the JSON documents of schemas that are operands of a grammar, as in structural tags.
//!
//! A schema by itself reads the whole text as one document. Here the document begins somewhere in the text: where the rules begin that stand for the schema in the
//! expanded grammar. The chart of the reference recognizer knows them, for each way to read the text. Only if all that may come next belongs to one document of
//! one schema is anything said of it; else the rules say more:
//!
//! ```text
//! root ::= "call " %json {"required": ["a"]} | "call {}"
//!          call {            two ways to go on, in the document and outside
//!          call {"           the document begins at offset 5
//! ```

use super::schema::SchemaPlace;
use crate::json_schema::{RootForm, Writing};
use crate::matcher::Matcher;
use crate::reference::Chart;

/// Returns the place in a document of a schema where the text of a matcher stops, with `rest` behind it. The chart has read the same text.
pub(super) fn place(matcher: &Matcher, chart: &Chart, text: &[u8], rest: &[u8]) -> Option<SchemaPlace> {
    let grammar = matcher.grammar();
    if matcher.is_terminated() || grammar.schema_reports().next().is_none() {
        return None;
    }
    let entries = chart.outermost(|rule| grammar.schema_of_rule(rule).is_some())?;
    let first = entries.first()?;
    let (operand, report) = grammar.schema_of_rule(first.rule)?;
    let is_same = |other: &crate::reference::OpenRule| {
        other.start == first.start && grammar.schema_of_rule(other.rule).is_some_and(|(of, _)| of == operand)
    };
    // A text that is a string without quotes is no document.
    if !entries.iter().all(is_same) || matches!(operand.options().root, RootForm::Text { .. }) {
        return None;
    }
    // Within a document all symbols are bytes.
    let begun = text.len().checked_sub(chart.len() - first.start)?;
    let place = SchemaPlace::of(report, matcher, &text[begun..], rest)?;
    (place.position().writing != Writing::End).then_some(place)
}
