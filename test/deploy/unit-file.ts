/** Parses a systemd unit: sections, and the values of each directive in order. */

export type UnitFile = ReadonlyMap<string, readonly string[]>;

/** Values by `Section.Directive`. Throws for an invalid line. */
export function parseUnit(text: string): UnitFile {
  const values = new Map<string, string[]>();
  let section = '';
  for (const line of text.split('\n').map((line) => line.trim())) {
    if (line === '' || line.startsWith('#')) continue;
    const [, named] = /^\[(\w+)\]$/.exec(line) ?? [];
    const [, directive, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (named !== undefined) section = named;
    else if (directive === undefined || value === undefined) throw new Error(`no directive: ${line}`);
    else values.set(`${section}.${directive}`, [...(values.get(`${section}.${directive}`) ?? []), value]);
  }
  return values;
}

/** The last value of a directive; null: absent. */
export function lastOf(unit: UnitFile, directive: string): string | null {
  return unit.get(directive)?.at(-1) ?? null;
}

/** Environment variables of units, each drop-in after its unit; `%d` is the credentials directory. */
export function environmentOf(...units: readonly UnitFile[]): Record<string, string> {
  const assignments = units.flatMap((unit) => unit.get('Service.Environment') ?? []);
  return Object.fromEntries(
    assignments.map((assignment) => {
      const at = assignment.indexOf('=');
      return [assignment.slice(0, at), assignment.slice(at + 1).replaceAll('%d', '/run/credentials')];
    }),
  );
}
