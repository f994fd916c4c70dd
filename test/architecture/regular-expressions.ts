/**
 * Finds the regular expressions of a file in its syntax tree and judges each: `recheck` proves that it is linear in the length
 * of its input, or finds an input for which it is not.
 */
import { parseSync } from 'oxc-parser';
import { checkSync } from 'recheck';

/** The JavaScript implementation: native ones do not exist for every platform. */
process.env['RECHECK_BACKEND'] = 'pure';

export interface FoundExpression {
  readonly path: string;
  readonly source: string;
  readonly flags: string;
}

export interface Expressions {
  readonly literals: readonly FoundExpression[];
  /** Expressions built at run time, which cannot be judged beforehand. */
  readonly dynamic: readonly string[];
}

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Methods that turn a string into an expression. */
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

/** True for values; types name `RegExp` too, in other nodes. */
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

/** Only for hangs: the slowest takes seconds. */
const msMax = 300_000;

const escapesAndClasses = /\\.|\[(?:\\.|[^\]\\])*\]/g;
const endlessRepetition = /[*+]|\{\d+,\}/;

/** Null: linear. An expression without an unbounded repetition tries a bounded number of steps at each position. */
export function violationOf({ path, source, flags }: FoundExpression): string | null {
  if (!endlessRepetition.test(source.replaceAll(escapesAndClasses, ''))) return null;
  const verdict = checkSync(source, flags, { timeout: msMax, attackTimeout: null, incubationTimeout: null });
  if (verdict.status === 'safe') return null;
  const why = verdict.status === 'vulnerable' ? verdict.complexity.summary : verdict.error.kind;
  return `${path}: /${source}/${flags}: ${why}`;
}
