/** Values of a stored row by the names of their places. A list of names only grows at its end. */

export function pickFields(item: object, names: readonly string[]): unknown[] {
  return names.map((name) => (item as Readonly<Record<string, unknown>>)[name]);
}

/** The item of a row that `pickFields` made. */
export function nameFields(row: readonly unknown[], names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name, at) => [name, row[at]]));
}
