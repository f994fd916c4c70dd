/** Extracts names from a PromQL expression: metrics, the label matchers of each, and labels in groupings. */

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
/** A string, a number or duration, or a name with the following braces or parenthesis. */
const tokens = /"[^"]*"|\d[\w.]*|([A-Za-z_:][\w:]*)\s*(?:(\{[^}]*\})|(\())?/g;
const matcherForm = /(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g;

/** The expression has to be valid: every name that is not a function, keyword or label is a metric. */
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

/** True if the matcher accepts this value of the label; Prometheus anchors regular expressions. */
export function matches({ operator, value }: Matcher, given: string): boolean {
  const isEqual = operator.endsWith('~') ? new RegExp(`^(?:${value})$`).test(given) : value === given;
  return operator.startsWith('!') ? !isEqual : isEqual;
}

/** Replaces Grafana's variables by values that Prometheus can parse: intervals become minutes, selections become all. */
export function withoutVariables(expression: string): string {
  return expression.replace(/\$__(?:rate_)?interval/g, '5m').replace(/"\$\w+"/g, '".*"');
}
