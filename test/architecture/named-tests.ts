/** What is wrong with a page whose tables name a test in every row, as functions from its text. */

const testPath = /`(test\/[^`\s]+)`/g;

/** The tests that the page names, each once. */
export function testsNamed(page: string): string[] {
  return [...new Set([...page.matchAll(testPath)].map(([, path = '']) => path))];
}

/** Rows of tables without a test; the two lines of a table's head are none. */
export function rowsWithoutTest(page: string): string[] {
  const lines = page.split('\n');
  return lines.filter((line, i) => {
    const isHead = isDivider(line) || isDivider(lines[i + 1] ?? '');
    return line.startsWith('|') && !isHead && line.search(testPath) === -1;
  });
}

export function countRows(page: string): number {
  const lines = page.split('\n').filter((line) => line.startsWith('|'));
  return lines.length - 2 * lines.filter(isDivider).length;
}

function isDivider(line: string): boolean {
  return /^\|[\s|:-]+\|$/.test(line);
}
