/**
 * The bill of materials of what runs, from the one of everything: npm's own `--omit dev` also leaves out what both sides
 * need, so that zod and pino were missing. Reads what `npm sbom` writes, takes out what npm marks as development, and
 * changes nothing else.
 *
 *   npm sbom --sbom-format cyclonedx --package-lock-only | node --import tsx test/support/runtime-bill.ts
 */
import { readFileSync } from 'node:fs';

interface Component {
  readonly 'bom-ref': string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

interface Bill {
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const standardInput = 0;
const bill = JSON.parse(readFileSync(standardInput, 'utf8')) as Bill;
const components = bill.components.filter((component) => !isDevelopment(component));
const kept = new Set(components.map((component) => component['bom-ref']));
const left = new Set(
  bill.components.map((component) => component['bom-ref']).filter((ref) => !kept.has(ref)),
);
const runs = (ref: string): boolean => !left.has(ref);

const runtimeBill: Bill = {
  ...bill,
  components,
  dependencies: bill.dependencies
    .filter(({ ref }) => runs(ref))
    .map((dependency) => ({ ...dependency, dependsOn: dependency.dependsOn.filter(runs) })),
};
process.stdout.write(`${JSON.stringify(runtimeBill, null, 2)}\n`);

function isDevelopment({ properties = [] }: Component): boolean {
  return properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true');
}
