/** A systemd unit as its lines say it: sections, and the values of each directive in their order. */

export type UnitFile = ReadonlyMap<string, readonly string[]>;

/** By `Section.Directive`. Throws for a line that is neither. */
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

/** The last value of a directive; null: it has none. */
export function lastOf(unit: UnitFile, directive: string): string | null {
  return unit.get(directive)?.at(-1) ?? null;
}

/** The variables that units give, a drop-in behind its unit; `%d` is the folder of credentials. */
export function environmentOf(...units: readonly UnitFile[]): Record<string, string> {
  const assignments = units.flatMap((unit) => unit.get('Service.Environment') ?? []);
  return Object.fromEntries(
    assignments.map((assignment) => {
      const at = assignment.indexOf('=');
      return [assignment.slice(0, at), assignment.slice(at + 1).replaceAll('%d', '/run/credentials')];
    }),
  );
}
