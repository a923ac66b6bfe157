//! The files of the page, as they are in `assets/`.

/// A file of the page.
pub struct Asset {
    /// The path that it is served at.
    pub path: &'static str,
    /// Its content type.
    pub kind: &'static str,
    /// Its content.
    pub content: &'static str,
}

const JS: &str = "text/javascript; charset=utf-8";

/// All files. What is not in this table does not exist: paths never reach a file system.
pub const ASSETS: [Asset; 13] = [
    Asset { path: "/", kind: "text/html; charset=utf-8", content: include_str!("assets/index.html") },
    Asset { path: "/style.css", kind: "text/css; charset=utf-8", content: include_str!("assets/style.css") },
    Asset { path: "/icon.svg", kind: "image/svg+xml", content: include_str!("assets/icon.svg") },
    Asset { path: "/app.js", kind: JS, content: include_str!("assets/app.js") },
    Asset { path: "/allowed.js", kind: JS, content: include_str!("assets/allowed.js") },
    Asset { path: "/api.js", kind: JS, content: include_str!("assets/api.js") },
    Asset { path: "/chips.js", kind: JS, content: include_str!("assets/chips.js") },
    Asset { path: "/dom.js", kind: JS, content: include_str!("assets/dom.js") },
    Asset { path: "/editor.js", kind: JS, content: include_str!("assets/editor.js") },
    Asset { path: "/panels.js", kind: JS, content: include_str!("assets/panels.js") },
    Asset { path: "/schema.js", kind: JS, content: include_str!("assets/schema.js") },
    Asset { path: "/state.js", kind: JS, content: include_str!("assets/state.js") },
    Asset { path: "/text.js", kind: JS, content: include_str!("assets/text.js") },
];

/// An example of the menu.
pub struct Example {
    /// Its name in the menu.
    pub name: &'static str,
    /// The grammar.
    pub grammar: &'static str,
    /// The beginning of a document.
    pub document: &'static str,
}

/// The examples, in the order of the menu.
pub const EXAMPLES: [Example; 10] = [
    Example {
        name: "JSON",
        grammar: include_str!("../../grammars/json.ebnf"),
        document: "{\"name\": \"Ada\", \"born\": 18",
    },
    Example { name: "Arithmetic", grammar: include_str!("../../grammars/arithmetic.ebnf"), document: "(1 + 2) * 3" },
    Example { name: "CSV", grammar: include_str!("../../grammars/csv.ebnf"), document: "name,age\nAda,36\n" },
    Example {
        name: "SQL select",
        grammar: include_str!("../../grammars/sql_select.ebnf"),
        document: "SELECT name FROM users WHERE age > 2",
    },
    Example { name: "C", grammar: include_str!("../../grammars/c.ebnf"), document: "int main(void) { return 0" },
    Example {
        name: "Tool calls in text",
        grammar: include_str!("../../grammars/tool_calls.ebnf"),
        document: "Let me see. <tool_call>{\"name\": \"search\", \"arg",
    },
    Example {
        name: "Schema: book a table",
        grammar: include_str!("../../grammars/tool_call.schema.json"),
        document: "{\"name\": \"book_table\", \"arguments\": {\"restaurant\": {\"id\": \"r-12",
    },
    Example {
        name: "Lark: a list",
        grammar: "start: \"[\" (item (\",\" item)*)? \"]\"\nitem: NUMBER | NAME | start\nNUMBER: /[0-9]+/\nNAME: /[a-z]+/\n%ignore / +/\n",
        document: "[1, two, [3",
    },
    Example {
        name: "Structural tag",
        grammar: "{\n  \"type\": \"structural_tag\",\n  \"format\": {\n    \"type\": \"tag\",\n    \"begin\": \"<answer>\",\n    \"content\": {\n      \"type\": \"json_schema\",\n      \"json_schema\": {\n        \"type\": \"object\",\n        \"properties\": { \"city\": { \"type\": \"string\" }, \"days\": { \"type\": \"integer\", \"minimum\": 1, \"maximum\": 14 } },\n        \"required\": [\"city\", \"days\"],\n        \"additionalProperties\": false\n      }\n    },\n    \"end\": \"</answer>\"\n  }\n}\n",
        document: "<answer>{\"city\": \"Lima\", \"days\": 1",
    },
    Example {
        name: "Sentences",
        grammar: "root ::= sentence (\" \" sentence)*\nsentence ::= subject \" \" verb \" \" object \".\"\nsubject ::= \"the \" (\"cat\" | \"dog\" | \"child\")\nverb ::= \"sees\" | \"hears\" | \"follows\"\nobject ::= subject | \"it\"\n",
        document: "the cat sees the mouse.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_the_page_imports_are_served() {
        for asset in &ASSETS {
            let quoted =
                asset.content.split(['"', '\'']).filter(|text| text.starts_with("./") && text.ends_with(".js"));
            for import in quoted {
                assert!(ASSETS.iter().any(|other| other.path == &import[1..]), "{} imports {import}", asset.path);
            }
        }
    }
}
