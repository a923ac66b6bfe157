//! What became of each keyword of a schema.

/// What became of a keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Every mask obeys it.
    Enforced,
    /// It could not be enforced, and lenient mode dropped it; the reason.
    Relaxed(Box<str>),
    /// It says nothing about which values are valid: annotations, unknown words, formats that are not asserted.
    Annotation,
}

/// A keyword of a schema, its place, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The keyword, like `minLength`.
    pub keyword: Box<str>,
    /// The URI of the document, if it has one, and the JSON pointer of the keyword's value: `#/properties/a/minLength`.
    pub place: Box<str>,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of each keyword of a schema: all that was read, in the order in which sub-schemas were met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaReport {
    pub(crate) findings: Vec<Finding>,
}

impl SchemaReport {
    /// Returns all findings.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns about how much memory the report takes, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let texts: usize = self.findings.iter().map(|finding| finding.keyword.len() + finding.place.len()).sum();
        texts + size_of_val(&*self.findings)
    }

    /// Tells whether every constraint is enforced.
    pub fn is_exact(&self) -> bool {
        self.findings.iter().all(|finding| !matches!(finding.verdict, Verdict::Relaxed(_)))
    }
}
