/** Parses the numeric options of a soak, like `--calls 20`; absent ones have their defaults. */
import { parseArgs } from 'node:util';

export function readNumbers<Name extends string>(
  args: readonly string[],
  usual: Readonly<Record<Name, number>>,
): Record<Name, number> {
  const names = Object.keys(usual) as Name[];
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' } as const]));
  const { values } = parseArgs({ args: [...args], options });
  const numbers = names.map((name) => [name, Number(values[name] ?? usual[name])] as const);
  const wrong = numbers.find(([, number]) => !Number.isInteger(number));
  if (wrong !== undefined) throw new Error(`--${wrong[0]} is a whole number`);
  return Object.fromEntries(numbers) as Record<Name, number>;
}
