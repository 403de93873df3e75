/**
 * Reads the YAML that docker-compose.yml is written in: block maps, lists of scalars or small maps, flow lists of
 * quoted strings, literal blocks, plain and double-quoted scalars. Anything else throws, so that the file can't
 * drift into something that this reader takes for another meaning.
 */
export type Yaml = string | null | readonly Yaml[] | { readonly [key: string]: Yaml };

interface Line {
  readonly indent: number;
  readonly text: string;
}

export function readYaml(source: string): Yaml {
  const lines = source.split('\n').map((raw): Line => ({ indent: raw.length - raw.trimStart().length, text: raw.trim() }));
  const state = { lines, at: 0 };
  const value = readBlock(state, 0);
  if (nextLine(state) !== null) throw new Error(`line ${state.at + 1}: not understood`);
  return value;
}

interface State {
  readonly lines: readonly Line[];
  at: number;
}

/** The next line that is neither empty nor a comment. */
function nextLine(state: State): Line | null {
  for (; state.at < state.lines.length; state.at++) {
    const line = state.lines[state.at];
    if (line !== undefined && line.text !== '' && !line.text.startsWith('#')) return line;
  }
  return null;
}

function readBlock(state: State, indent: number): Yaml {
  const first = nextLine(state);
  if (first === null || first.indent < indent) return null;
  return first.text.startsWith('- ') ? readList(state, first.indent) : readMap(state, first.indent);
}

function readList(state: State, indent: number): Yaml {
  const items: Yaml[] = [];
  for (let line = nextLine(state); line?.indent === indent && line.text.startsWith('- '); line = nextLine(state)) {
    const text = line.text.slice(2);
    if (/^[\w.-]+: \S/.test(text)) {
      (state.lines as Line[])[state.at] = { indent: indent + 2, text };
      items.push(readMap(state, indent + 2));
    } else {
      items.push(readScalar(text, state.at));
      state.at++;
    }
  }
  return items;
}

function readMap(state: State, indent: number): Yaml {
  const map: Record<string, Yaml> = {};
  for (let line = nextLine(state); line?.indent === indent; line = nextLine(state)) {
    const match = /^([\w.-]+):(?: (.*))?$/.exec(line.text);
    const [, key, rest = ''] = match ?? [];
    if (key === undefined || key in map) throw new Error(`line ${state.at + 1}: not a key, or one that was there before`);
    state.at++;
    if (rest === '|') map[key] = readLiteral(state, indent);
    else map[key] = rest === '' ? readBlock(state, indent + 1) : readScalar(rest, state.at - 1);
  }
  return map;
}

function readLiteral(state: State, parentIndent: number): string {
  const indent = state.lines[state.at]?.indent ?? 0;
  if (indent <= parentIndent) throw new Error(`line ${state.at + 1}: an empty literal block`);
  const texts: string[] = [];
  for (; state.at < state.lines.length; state.at++) {
    const line = state.lines[state.at];
    if (line === undefined || (line.text !== '' && line.indent < indent)) break;
    texts.push(line.text === '' ? '' : ' '.repeat(line.indent - indent) + line.text);
  }
  return `${texts.join('\n').trimEnd()}\n`;
}

function readScalar(text: string, at: number): Yaml {
  if (text.startsWith('[') || text.startsWith('"')) return JSON.parse(text) as Yaml;
  if (/^[&*!|>'%@`{}?]|: | #/.test(text)) throw new Error(`line ${at + 1}: ${text} is beyond this reader`);
  return text;
}
