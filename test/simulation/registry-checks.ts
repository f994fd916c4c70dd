/** Checks the registry of every process at rest, and its events in the log. Invariant 11 of docs/simulation.md. */
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

/** Checks the registry after the last change of each device is answered. */
export function checkRegistry(site: Site): void {
  const lives = site.places.flatMap(({ life }) => life ?? []);
  const [first] = lives;
  if (first === undefined) return;
  const agreed = textOf(first.store.registry);
  for (const life of lives) {
    if (textOf(life.store.registry) !== agreed)
      site.evidence.violated(11, `the registry of ${life.name} differs from that of ${first.name}`);
    for (const deviceId of site.devices) checkDevice(site, life, deviceId);
    const { appIds } = life.member.context.registry.findProduct(product) ?? { appIds: [] };
    if (appIds.length < 2) site.evidence.violated(11, `${life.name} has an outdated product`);
  }
}

/** Checks, after a while without faults, that registry caches equal the store and that forbidden sessions have ended. */
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
              `${evidence.name('s', fact.session)} of ${deviceId} lives although the registry forbids it`,
            );
    }
}

function checkCached(evidence: Evidence, life: Life, deviceId: DeviceId): void {
  const stored = life.store.registry.find('device', deviceId);
  const known = life.member.context.registry.findDevice(deviceId);
  if (JSON.stringify(known) !== JSON.stringify(stored))
    evidence.violated(11, `${life.name} has an outdated entry of ${deviceId}`);
}

function checkDevice({ registry, evidence }: Site, life: Life, deviceId: DeviceId): void {
  const stored = life.store.registry.find('device', deviceId);
  checkCached(evidence, life, deviceId);
  const isAsAnswered =
    stored?.disabled === registry.isGone(deviceId) && stored.secret === registry.secretOf(deviceId);
  if (!isAsAnswered)
    evidence.violated(11, `${life.name} does not have the latest answered entry of ${deviceId}`);
}

function textOf(tables: RegistryTables): string {
  const rows = kindNames.map((kind) =>
    tables.ids(kind, entriesMax).map((id) => [kind, id, tables.findRow(kind, id)?.toString('hex')]),
  );
  return JSON.stringify(rows);
}

/** Every answered change has exactly one event; an unanswered one at most one. */
export function checkRegistryEvents({ registry, evidence }: Site, events: readonly FinalEvent[]): void {
  const counts = new Map<string, number>();
  for (const { type, deviceId, data } of events) {
    if (!type.startsWith('device.registry.')) continue;
    evidence.count('registry events');
    const changed = 'changed' in data ? data.changed : [];
    const key = `${deviceId} ${type} ${changed.join()}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const expected = new Map<string, { least: number; most: number }>();
  for (const { deviceId, kind, answer } of registry.changes) {
    const key = `${deviceId} ${toldAs[kind]}`;
    const { least, most } = expected.get(key) ?? { least: 0, most: 0 };
    const isMade = answer?.isChanged === true;
    expected.set(key, { least: least + Number(isMade), most: most + Number(isMade || answer === null) });
  }
  for (const [key, { least, most }] of expected) {
    const times = counts.get(key) ?? 0;
    if (times < least || times > most)
      evidence.violated(11, `${key} has ${times} events for ${least} to ${most} changes`);
  }
  for (const [key, times] of counts)
    if (!expected.has(key)) evidence.violated(11, `${key} has ${times} events without a request`);
}

const toldAs: Readonly<Record<ChangeKind, string>> = {
  added: 'device.registry.added ',
  removed: 'device.registry.removed ',
  disabled: 'device.registry.changed disabled',
  enabled: 'device.registry.changed disabled',
  secret: 'device.registry.changed secret',
};
