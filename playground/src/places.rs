//! Lines and columns of many places in one text: one pass over the text, then a binary search for each place.

/// The places where the lines of a text begin.
pub struct Places<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Places<'t> {
    /// Finds the lines of a text.
    pub fn new(text: &'t str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Places { text, starts }
    }

    /// Returns the 1-based line and column (in characters) of a byte offset.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|&start| start <= offset);
        let start = self.starts[line - 1];
        let before = self.text.as_bytes()[start..offset.min(self.text.len())].iter();
        // Bytes that go on with a character begin none.
        (line, before.filter(|&&byte| byte & 0xC0 != 0x80).count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_spans() {
        let text = "a\né b\n\nlast";
        let places = Places::new(text);
        for (offset, _) in text.char_indices() {
            let span = maskwright::util::Span::new(offset, offset);
            assert_eq!(places.line_column(offset), span.line_column(text), "{offset}");
        }
    }
}
