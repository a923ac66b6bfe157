//! Tests that take up to some minutes each. They are one binary, so that they run side by side: those of different binaries run one after another.

mod ebnf_masks;
mod json_schema_lengths;
mod json_schema_masks;
mod json_schema_real;
mod json_schema_samples;
