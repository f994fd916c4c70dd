/** What a PromQL expression names: metrics, with the labels that are asked of each, and the labels that it groups by. */

interface NamedMetric {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
}

export interface Matcher {
  readonly label: string;
  readonly operator: '=' | '!=' | '=~' | '!~';
  readonly value: string;
}

interface NamedInQuery {
  readonly metrics: readonly NamedMetric[];
  readonly grouping: readonly string[];
}

const keywords = new Set(['and', 'or', 'unless', 'offset', 'bool']);
const groupings = /\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g;
/** A text, a number or duration, or a name with the braces or the parenthesis behind it. */
const tokens = /"[^"]*"|\d[\w.]*|([A-Za-z_:][\w:]*)\s*(?:(\{[^}]*\})|(\())?/g;
const matcherForm = /(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g;

/** Of an expression that Prometheus takes: each name that is no function, keyword or label is a metric. */
export function readQuery(expression: string): NamedInQuery {
  const grouping = [...expression.matchAll(groupings)].flatMap(([, labels = '']) =>
    labels.split(',').map((label) => label.trim()),
  );
  const metrics: NamedMetric[] = [];
  for (const [, name, braces = '', call] of expression.replace(groupings, ' ').matchAll(tokens))
    if (name !== undefined && call === undefined && !keywords.has(name))
      metrics.push({ metric: name, matchers: readMatchers(braces) });
  return { metrics, grouping };
}

function readMatchers(braces: string): Matcher[] {
  return [...braces.matchAll(matcherForm)].map(([, label = '', operator, value = '']) => ({
    label,
    operator: operator as Matcher['operator'],
    value,
  }));
}

/** Whether the operator takes this value of the label, with Prometheus' whole-text expressions. */
export function matches({ operator, value }: Matcher, given: string): boolean {
  const isEqual = operator.endsWith('~') ? new RegExp(`^(?:${value})$`).test(given) : value === given;
  return operator.startsWith('!') ? !isEqual : isEqual;
}

/** Grafana's variables as Prometheus may read them: spans become minutes, what is chosen becomes all. */
export function withoutVariables(expression: string): string {
  return expression.replace(/\$__(?:rate_)?interval/g, '5m').replace(/"\$\w+"/g, '".*"');
}
