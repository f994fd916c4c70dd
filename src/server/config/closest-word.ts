/** The word somebody probably meant: the one fewest edits away. */

/** `words` are not empty; of equally near ones the first. */
export function closestWord(given: string, words: readonly string[]): string {
  let closest = '';
  let fewest = Infinity;
  for (const word of words) {
    const edits = editDistance(given.toLowerCase(), word.toLowerCase());
    if (edits >= fewest) continue;
    fewest = edits;
    closest = word;
  }
  return closest;
}

/** Characters to add, drop or change; row by row, each from the one before. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let line = 0; line < from.length; line++) {
    const next = [line + 1];
    for (let column = 0; column < to.length; column++) {
      const changed = (row[column] ?? 0) + (to[column] === from[line] ? 0 : 1);
      next.push(Math.min(changed, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
