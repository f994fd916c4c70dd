/**
 * Reduces the bill of materials of all packages to those needed at run time: npm's own `--omit dev` also omits packages that
 * both need, such as zod and pino. Reads the output of `npm sbom`, removes packages that npm marks as development, and corrects
 * licenses that packages omit or that their binaries add.
 *
 *   npm sbom --sbom-format cyclonedx --package-lock-only | node --import tsx test/support/runtime-bill.ts
 */
import { readFileSync } from 'node:fs';

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly licenses?: readonly object[];
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

interface Bill {
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** SPDX expressions according to the packages' contents. The first that matches a name applies. */
const licenses: readonly (readonly [name: RegExp, expression: string])[] = [
  // FFmpeg built with --enable-gpl --enable-version3 (adr/0015).
  [/^@seydx\/node-av-/, 'MIT AND GPL-3.0-or-later'],
  // It contains OpenCORE's AMR encoder.
  [/^recorder-core$/, 'MIT AND Apache-2.0'],
  // Their package.json says "MPL 2.0", which is no SPDX name.
  [/^(?:@node-datachannel\/.+|node-datachannel)$/, 'MPL-2.0'],
  // Stated only in its LICENSE file.
  [/^@shinyoshiaki\/jspack$/, 'BSD-3-Clause'],
];

const standardInput = 0;
const bill = JSON.parse(readFileSync(standardInput, 'utf8')) as Bill;
const components = bill.components.filter((component) => !isDevelopment(component)).map(withLicense);
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

function withLicense(component: Component): Component {
  const [, expression] = licenses.find(([name]) => name.test(component.name)) ?? [];
  return expression === undefined ? component : { ...component, licenses: [{ expression }] };
}

function isDevelopment({ properties = [] }: Component): boolean {
  return properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true');
}
