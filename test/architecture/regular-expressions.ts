/**
 * The regular expressions of a file, by its syntax tree, and a judgement of each: `recheck` proves it linear in the length of
 * its input, or finds an input for which it isn't.
 */
import { parseSync } from 'oxc-parser';
import { checkSync } from 'recheck';

/** In JavaScript: its native programs are not there for every platform. */
process.env['RECHECK_BACKEND'] = 'pure';

export interface FoundExpression {
  readonly path: string;
  readonly source: string;
  readonly flags: string;
}

export interface Expressions {
  readonly literals: readonly FoundExpression[];
  /** Made while the program runs, from text that nobody can judge beforehand. */
  readonly dynamic: readonly string[];
}

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** These make an expression of a string. */
const textMethods: ReadonlySet<unknown> = new Set(['match', 'matchAll', 'search']);
const textTypes: ReadonlySet<unknown> = new Set(['TemplateLiteral', 'BinaryExpression']);

/** Throws when the text does not parse. */
export function findExpressions(path: string, text: string): Expressions {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const found = { literals: [] as FoundExpression[], dynamic: [] as string[] };
  for (const node of nodesOf(program)) {
    const regex = node['regex'] as { pattern: string; flags: string } | undefined;
    if (regex !== undefined) found.literals.push({ path, source: regex.pattern, flags: regex.flags });
    if (isDynamic(node))
      found.dynamic.push(`${path}: ${text.slice(Number(node['start']), Number(node['end']))}`);
  }
  return found;
}

/** Types name `RegExp` too, in other nodes. */
function isDynamic(node: Node): boolean {
  if (node.type === 'TSTypeReference') return false;
  if (node.type === 'Identifier') return node['name'] === 'RegExp';
  if (node.type !== 'CallExpression') return false;
  const {
    callee,
    arguments: [first],
  } = node as unknown as { callee: Node; arguments: Node[] };
  const method = (callee['property'] as Node | undefined)?.['name'];
  const isText = typeof first?.['value'] === 'string' || textTypes.has(first?.type);
  return textMethods.has(method) && isText;
}

function* nodesOf(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return;
  const { type } = value as Node;
  if (typeof type === 'string') yield value as Node;
  for (const [field, inner] of Object.entries(value))
    if (!(type === 'TSTypeReference' && field === 'typeName')) yield* nodesOf(inner);
}

/** For a hang alone: the slowest takes seconds. */
const msMax = 300_000;

const escapesAndClasses = /\\.|\[(?:\\.|[^\]\\])*\]/g;
const endlessRepetition = /[*+]|\{\d+,\}/;

/** Null: linear. What an expression without an endless repetition tries at each place has a bound. */
export function violationOf({ path, source, flags }: FoundExpression): string | null {
  if (!endlessRepetition.test(source.replaceAll(escapesAndClasses, ''))) return null;
  const verdict = checkSync(source, flags, { timeout: msMax, attackTimeout: null, incubationTimeout: null });
  if (verdict.status === 'safe') return null;
  const why = verdict.status === 'vulnerable' ? verdict.complexity.summary : verdict.error.kind;
  return `${path}: /${source}/${flags}: ${why}`;
}
