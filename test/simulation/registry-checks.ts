/** The registry at rest, as every process has it, and what the log says of its changes. Invariant 11 of docs/simulation.md. */
import { connectionKinds } from '../../src/model/cluster.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import { kindNames } from '../../src/storage/registry/registry-kinds.ts';
import type { RegistryTables } from '../../src/storage/registry/registry-tables.ts';
import type { FinalEvent } from './checks.ts';
import type { Evidence, SessionFact } from './evidence.ts';
import type { ChangeKind } from './registry-facts.ts';
import { product } from './names.ts';
import type { Life, Site } from './site.ts';

const entriesMax = 1000;

/** Nobody changes it any more, and each device's last change was answered. */
export function checkRegistry(site: Site): void {
  const lives = site.places.flatMap(({ life }) => life ?? []);
  const [first] = lives;
  if (first === undefined) return;
  const agreed = textOf(first.store.registry);
  for (const life of lives) {
    if (textOf(life.store.registry) !== agreed)
      site.evidence.violated(11, `${life.name} has another registry than ${first.name}`);
    for (const deviceId of site.devices) checkDevice(site, life, deviceId);
    const { appIds } = life.member.context.registry.findProduct(product) ?? { appIds: [] };
    if (appIds.length < 2) site.evidence.violated(11, `${life.name} knows an old product`);
  }
}

/** Nothing has gone wrong for a while: what a process keeps of its registry is what is stored, and who may not be there is gone. */
export function checkKnown(site: Site): void {
  const { devices, evidence, places } = site;
  for (const life of places.flatMap((place) => place.life ?? []))
    for (const deviceId of devices) {
      const stored = life.store.registry.find('device', deviceId);
      checkCached(evidence, life, deviceId);
      const mayStay = ({ secret }: SessionFact): boolean =>
        stored !== null && !stored.disabled && stored.secret === secret;
      for (const kind of connectionKinds)
        for (const fact of evidence.living(kind, deviceId))
          if (site.serverOf(fact.holder) === life && !mayStay(fact))
            evidence.violated(
              11,
              `${evidence.name('s', fact.session)} of ${deviceId} lives on against the registry`,
            );
    }
}

function checkCached(evidence: Evidence, life: Life, deviceId: DeviceId): void {
  const stored = life.store.registry.find('device', deviceId);
  const known = life.member.context.registry.findDevice(deviceId);
  if (JSON.stringify(known) !== JSON.stringify(stored))
    evidence.violated(11, `${life.name} knows an old entry of ${deviceId}`);
}

function checkDevice({ registry, evidence }: Site, life: Life, deviceId: DeviceId): void {
  const stored = life.store.registry.find('device', deviceId);
  checkCached(evidence, life, deviceId);
  const isAsAnswered =
    stored?.disabled === registry.isGone(deviceId) && stored.secret === registry.secretOf(deviceId);
  if (!isAsAnswered)
    evidence.violated(11, `${life.name} has not the entry of ${deviceId} that was answered last`);
}

function textOf(tables: RegistryTables): string {
  const rows = kindNames.map((kind) =>
    tables.ids(kind, entriesMax).map((id) => [kind, id, tables.findRow(kind, id)?.toString('hex')]),
  );
  return JSON.stringify(rows);
}

/** Every change that was answered is told once; one that was not answered may have been made, and is told once then. */
export function checkRegistryEvents({ registry, evidence }: Site, events: readonly FinalEvent[]): void {
  const told = new Map<string, number>();
  for (const { type, deviceId, data } of events) {
    if (!type.startsWith('device.registry.')) continue;
    evidence.count('registry events');
    const changed = 'changed' in data ? data.changed : [];
    const key = `${deviceId} ${type} ${changed.join()}`;
    told.set(key, (told.get(key) ?? 0) + 1);
  }
  const expected = new Map<string, { least: number; most: number }>();
  for (const { deviceId, kind, answer } of registry.changes) {
    const key = `${deviceId} ${toldAs[kind]}`;
    const { least, most } = expected.get(key) ?? { least: 0, most: 0 };
    const isMade = answer?.isChanged === true;
    expected.set(key, { least: least + Number(isMade), most: most + Number(isMade || answer === null) });
  }
  for (const [key, { least, most }] of expected) {
    const times = told.get(key) ?? 0;
    if (times < least || times > most)
      evidence.violated(11, `${key} is told ${times} times, of ${least} to ${most} changes`);
  }
  for (const [key, times] of told)
    if (!expected.has(key)) evidence.violated(11, `${key} is told ${times} times, and nobody asked for it`);
}

const toldAs: Readonly<Record<ChangeKind, string>> = {
  added: 'device.registry.added ',
  removed: 'device.registry.removed ',
  disabled: 'device.registry.changed disabled',
  enabled: 'device.registry.changed disabled',
  secret: 'device.registry.changed secret',
};
