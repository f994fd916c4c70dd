/**
 * Changes the registry of a running site, as an operator at the processes with a control plane and as a backend through the
 * API: devices are disabled, removed, get another secret, are restored and kicked, and one is provisioned. Each change of a
 * device is answered or abandoned before the next.
 */
import { fail, succeed, type Result } from '../../src/lib/result.ts';
import type { AccessKeyId, DeviceId } from '../../src/model/ids.ts';
import type { DeviceOrder } from '../../src/model/provisioning.ts';
import type { Device } from '../../src/model/registry.ts';
import { changedTerms } from '../../src/model/state/registry-event.ts';
import type { SessionFact } from './evidence.ts';
import type { Requests } from './requests.ts';
import { app, otherApp, product } from './names.ts';
import type { Place, Site } from './site.ts';
import { reviewedMs, type ChangeKind, type DeviceChangeFact } from './registry-facts.ts';
import type { MemberRegistry } from './member-registry.ts';

/** Maximum milliseconds until edges execute an order of their core. */
const orderMs = 2000;
/** Milliseconds after which every member sees the owner of a session. */
const rowMs = 5000;

interface Outcome {
  readonly isChanged: boolean;
  readonly secret: string | null;
}

export class Operator {
  readonly #site: Site;
  readonly #requests: Requests;
  readonly #busy = new Set<DeviceId>();
  #made = 0;

  constructor(site: Site, requests: Requests) {
    this.#site = site;
    this.#requests = requests;
  }

  stir(): void {
    const { chance, devices } = this.#site;
    const at = chance.below(devices.length);
    const deviceId = devices[at];
    const lot = chance.next();
    if (deviceId === undefined || this.#busy.has(deviceId)) return;
    if (lot < 0.3) this.kick(deviceId);
    else if (lot < 0.4) void this.#changeProduct();
    else void this.#changeOnce(deviceId, at, lot);
  }

  kick(deviceId: DeviceId): void {
    const { evidence, timeline, weather } = this.#site;
    const place = this.#site.anyServing();
    if (place === null) return;
    const begunMs = timeline.nowMs;
    void this.#requests.ask(place, `kick ${deviceId}`, async (life) => {
      const ended = await life.member.kick(deviceId);
      return () => {
        evidence.count('kicks');
        const isWhole = this.#site.isUntroubled() && weather.lossShare === 0;
        const mustBeGone = ({ openedMs, isProvisional, holder }: SessionFact): boolean =>
          holder === life ? openedMs < begunMs : isWhole && !isProvisional && openedMs < begunMs - rowMs;
        const judge = (): void => {
          for (const kind of ['sleep', 'signal'] as const) {
            const left = evidence.living(kind, deviceId).find(mustBeGone);
            if (left !== undefined)
              evidence.violated(
                11,
                `${deviceId} was kicked by ${life.name}, but its ${evidence.name('s', left.session)} lives`,
              );
          }
        };
        // Wait until edges have received the order of their core.
        timeline.after(this.#site.edges.length > 0 ? orderMs : 0, null, judge);
        return ended.join(', ') || 'nothing to end';
      };
    });
  }

  /** Sets the final state of all devices: the share `shareGone` is disabled. Resolves when all changes are answered. */
  async finish(shareGone: number): Promise<void> {
    const { chance, devices } = this.#site;
    await this.#untilAnswered(() => this.#putProduct(true));
    for (const [at, deviceId] of devices.entries()) {
      const isGone = at > 0 && chance.next() < shareGone;
      const kinds = ['added', 'secret', isGone ? 'disabled' : 'enabled'] as const;
      for (const kind of kinds) await this.#untilAnswered(() => this.#change(deviceId, at, kind));
    }
  }

  /** Makes a random change; a revocation is reverted after a while. */
  async #changeOnce(deviceId: DeviceId, at: number, lot: number): Promise<void> {
    const { chance, timeline } = this.#site;
    const last = this.#site.registry.of(deviceId).at(-1)?.kind ?? 'added';
    if (last === 'disabled' || last === 'enabled') await this.#change(deviceId, at, 'enabled');
    if (last === 'removed') await this.#change(deviceId, at, 'added');
    else if (lot < 0.6) await this.#change(deviceId, at, 'secret');
    else {
      await this.#change(deviceId, at, lot < 0.85 ? 'disabled' : 'removed');
      timeline.after(3000 + chance.next() * 9000, null, () => {
        const isBack = this.#site.weather.isFair || this.#busy.has(deviceId);
        if (!isBack) void this.#change(deviceId, at, lot < 0.85 ? 'enabled' : 'added');
      });
    }
  }

  async #untilAnswered(act: () => Promise<boolean>): Promise<void> {
    while (!(await act()))
      await new Promise<void>((resolve) => this.#site.timeline.after(1000, null, resolve));
  }

  /** False: not answered. */
  async #change(deviceId: DeviceId, at: number, kind: ChangeKind): Promise<boolean> {
    const { chance, registry } = this.#site;
    const place = this.#placeOf(at);
    if (place?.life?.member.isUp !== true || this.#busy.has(deviceId)) return false;
    const change: DeviceChangeFact = {
      deviceId,
      kind,
      life: place.life,
      askedMs: this.#site.timeline.nowMs,
      answer: null,
    };
    this.#busy.add(deviceId);
    registry.asked(change);
    const isByBackend = kind === 'added' || chance.next() < 0.5;
    await (isByBackend ? this.#provision(place, change) : this.#write(place, change));
    this.#busy.delete(deviceId);
    return change.answer !== null;
  }

  async #write(place: Place, change: DeviceChangeFact): Promise<void> {
    const { deviceId, kind } = change;
    await this.#requests.ask(place, `operator: ${deviceId} ${kind}`, async (life) => {
      const outcome = await this.#refused(
        life.member.change((registry) => writeDevice(registry, change, this.#secret())),
      );
      return () => this.#answered(change, outcome);
    });
  }

  async #provision(place: Place, change: DeviceChangeFact): Promise<void> {
    const { deviceId, kind } = change;
    const number = (this.#made += 1);
    const request = {
      caller: { appId: app, accessKeyId: 'AK' as AccessKeyId, from: '' },
      orders: [orderOf(change)],
      signature: `d0${number.toString(16).padStart(62, '0')}`,
      signatureExpiresMs: Date.UTC(2026, 10, 20, 9, 30, 0),
    };
    await this.#requests.ask(place, `provisioning: ${deviceId} ${kind}`, async (life) => {
      const answer = await life.member.provision(request);
      return () => {
        if (!answer.ok) return this.#answered(change, fail(String(answer.error.code)));
        const [outcome] = answer.value;
        const isDone = outcome?.code === 0;
        const { isChanged = false, secret = null } = outcome ?? {};
        // Adding an existing device, or removing an absent one, changes nothing.
        return this.#answered(
          change,
          succeed({ isChanged: isDone && isChanged, secret }),
          String(outcome?.code),
        );
      };
    });
  }

  #answered(change: DeviceChangeFact, outcome: Result<Outcome, string>, code = '0'): string {
    const { chance, evidence, registry, timeline } = this.#site;
    if (!outcome.ok) return outcome.error;
    const { deviceId } = change;
    const { isChanged, secret } = outcome.value;
    change.answer = { atMs: timeline.nowMs, isChanged, secret };
    evidence.count('registry changes');
    if (secret !== null) timeline.after(chance.next() * 2000, null, () => registry.updateSecret(deviceId));
    timeline.after(reviewedMs, null, () => {
      for (const { session } of registry.survivors(change))
        evidence.violated(11, `${deviceId} was ${change.kind}, but its ${evidence.name('s', session)} lives`);
    });
    return isChanged ? 'changed' : `nothing changed, ${code}`;
  }

  async #changeProduct(): Promise<void> {
    await this.#putProduct(this.#site.chance.next() < 0.5);
  }

  /** False: not answered. */
  async #putProduct(isOfOther: boolean): Promise<boolean> {
    const { evidence } = this.#site;
    const place = this.#placeOf(0);
    if (place === null) return false;
    let isAnswered = false;
    const entry = { productId: product, appIds: isOfOther ? [app, otherApp] : [app] };
    await this.#requests.ask(
      place,
      `operator: the product is ${isOfOther ? '' : 'not '}the other application's`,
      async (life) => {
        const outcome = await this.#refused(life.member.change(({ writer }) => writer.put('product', entry)));
        return () => {
          isAnswered = outcome.ok;
          if (!outcome.ok) return outcome.error;
          evidence.count('registry changes');
          return 'changed';
        };
      },
    );
    return isAnswered;
  }

  /** Chooses the place of a change: concurrent changes of one entry by several nodes are resolved only at rest. */
  #placeOf(at: number): Place | null {
    const { chance, places, topology, weather } = this.#site;
    const isElsewhere = !weather.isFair && chance.next() < 0.1;
    const place = places[topology === 'nodes' ? (at + Number(isElsewhere)) % places.length : 0] ?? null;
    return place?.life?.member.isUp === true ? place : null;
  }

  #secret(): string {
    this.#made += 1;
    return `secret that an operator made, number ${this.#made}`;
  }

  async #refused<Value>(changed: Promise<Value>): Promise<Result<Value, string>> {
    try {
      return succeed(await changed);
    } catch (error) {
      return fail((error as Error).message);
    }
  }
}

function orderOf({ deviceId, kind }: DeviceChangeFact): DeviceOrder {
  switch (kind) {
    case 'added':
      return {
        kind: 'add',
        deviceId,
        productId: product,
        secret: null,
        expiresAt: null,
        disabled: false,
        labels: null,
      };
    case 'removed':
      return { kind: 'remove', deviceId };
    case 'secret':
      return { kind: 'change', deviceId, secret: true };
    case 'disabled':
    case 'enabled':
      return { kind: 'change', deviceId, disabled: kind === 'disabled' };
  }
}

async function writeDevice(
  { writer }: MemberRegistry,
  { deviceId, kind }: DeviceChangeFact,
  secret: string,
): Promise<Outcome> {
  if (kind === 'removed') return { isChanged: (await writer.remove('device', deviceId)).ok, secret: null };
  let isChanged = false;
  const changed = await writer.changeDevice(deviceId, (before) => {
    const after: Device =
      kind === 'secret' ? { ...before, secret } : { ...before, disabled: kind === 'disabled' };
    isChanged = changedTerms(before, after).length > 0;
    return after;
  });
  return { isChanged: changed.ok && isChanged, secret: changed.ok && kind === 'secret' ? secret : null };
}
