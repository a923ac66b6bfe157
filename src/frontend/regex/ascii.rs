//! Classes like `\d` over ASCII, their complements over all characters.
//!
//! The translator has a mode without Unicode, but that one is about bytes: it refuses `\D`, which would match half a character. So `\d` becomes
//! what `[[:digit:]]` is to the parser, which the translator reads over characters.

use regex_syntax::ast::{
    Ast, ClassAscii, ClassAsciiKind, ClassBracketed, ClassPerl, ClassPerlKind, ClassSet, ClassSetItem,
};

/// Returns a class with each `\d`, `\w` and `\s` replaced by that of ASCII, or `None` if it has none.
pub(super) fn with_ascii_classes(leaf: &Ast) -> Option<Ast> {
    match leaf {
        Ast::ClassPerl(class) => {
            let kind = ClassSet::Item(ascii(class));
            Some(Ast::ClassBracketed(Box::new(ClassBracketed { span: class.span, negated: false, kind })))
        }
        Ast::ClassBracketed(class) => {
            let mut class = class.clone();
            replace(&mut class.kind);
            Some(Ast::ClassBracketed(class))
        }
        _ => None,
    }
}

fn ascii(class: &ClassPerl) -> ClassSetItem {
    let kind = match class.kind {
        ClassPerlKind::Digit => ClassAsciiKind::Digit,
        ClassPerlKind::Space => ClassAsciiKind::Space,
        ClassPerlKind::Word => ClassAsciiKind::Word,
    };
    ClassSetItem::Ascii(ClassAscii { span: class.span, kind, negated: class.negated })
}

fn replace(set: &mut ClassSet) {
    let (mut sets, mut items) = (vec![set], Vec::new());
    loop {
        while let Some(set) = sets.pop() {
            match set {
                ClassSet::Item(item) => items.push(item),
                ClassSet::BinaryOp(operation) => sets.extend([&mut *operation.lhs, &mut *operation.rhs]),
            }
        }
        let Some(item) = items.pop() else { return };
        match item {
            ClassSetItem::Perl(class) => *item = ascii(class),
            ClassSetItem::Bracketed(class) => sets.push(&mut class.kind),
            ClassSetItem::Union(union) => items.extend(&mut union.items),
            _ => {}
        }
    }
}
