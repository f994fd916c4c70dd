/** What is wrong with decision records, each a function from texts to what breaks the form. */

export interface DecisionRecord {
  /** Of its file. */
  readonly name: string;
  readonly text: string;
}

const headings = ['Status', 'Context', 'Decision', 'Consequences'];
const statusForm = /^(Proposed|Accepted|Superseded by \d{4})\.$/m;

export function recordViolations({ name, text }: DecisionRecord): string[] {
  const number = /^(\d{4})(-[a-z0-9]+)+\.md$/.exec(name)?.[1];
  if (number === undefined) return [`${name} is not named NNNN-words.md`];
  if (!text.startsWith(`# ${number}: `)) return [`${name} does not begin with "# ${number}: "`];
  const [, ...sections] = text.split(/^## /m);
  const found = sections.map((section) => section.split('\n', 1)[0]);
  if (found.join() !== headings.join()) return [`${name} has the parts ${found.join(', ')}`];
  const empty = sections.filter((section) => section.split('\n').slice(1).join('').trim() === '');
  if (empty.length > 0) return [`${name} has an empty part`];
  return statusForm.test(sections[0] ?? '') ? [] : [`${name} has no known status`];
}

/** `names` in their order. */
export function numberViolations(names: readonly string[]): string[] {
  return names.filter((name, index) => name.slice(0, 4) === names[index - 1]?.slice(0, 4));
}

export function indexViolations(index: string, records: readonly DecisionRecord[]): string[] {
  const rows = [...index.matchAll(/^\| \[(\d{4})\]\((\S+)\) +\| (.+?) +\|$/gm)];
  const listed = rows.map(([, number, name, title]) => `${name} # ${number}: ${title}`);
  const written = records.map(({ name, text }) => `${name} ${text.split('\n', 1)[0]}`);
  return [
    ...written.filter((record) => !listed.includes(record)).map((record) => `not listed: ${record}`),
    ...listed
      .filter((row) => !records.some(({ name }) => row.startsWith(`${name} `)))
      .map((row) => `not there: ${row}`),
  ];
}

/** Of each table, the package names in its first column. */
export function packageTables(text: string): string[][] {
  const tables = text.split(/\n\n+/).filter((block) => block.startsWith('| package '));
  return tables.map((table) => [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, name = '']) => name));
}
