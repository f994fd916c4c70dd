/**
 * Changes an application's devices in the registry: in one transaction, after a line in the audit log, with one event per device. A
 * request without changes writes neither. A repeated signature is the same request: it is executed once, and its repeat is answered
 * with the current state, without a secret. Of the processes that share a registry, one executes changes. Source:
 * docs/provisioning.md; tgv1-signing.md, Replay.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { AuditAction, AuditIntent, AuditOutcome } from '../../model/audit.ts';
import { retryable, type ProvisioningCode, type Refusal } from '../../model/codes.ts';
import {
  provisioningsKnownMax,
  provisioningsMax,
  provisioningsPerApplicationMax,
} from '../../model/provisioning-limits.ts';
import type { DeviceOutcome, ProvisioningAnswer, ProvisioningRequest } from '../../model/provisioning.ts';
import { AnswerMemory } from '../messages/answer-memory.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import type { DeviceReads, DeviceRegistry } from '../ports/device-registry.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import { decideDevices } from './decide-device.ts';
import { SharedPlaces } from './shared-places.ts';

export interface ProvisionerDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly registry: Pick<RegistryReader, 'peekDevice' | 'findProduct'> & Pick<DeviceReads, 'countDevices'>;
  readonly devices: DeviceRegistry;
  /** Rejects before the change begins if its line cannot be written. */
  readonly audit: {
    record<Result>(
      intent: AuditIntent,
      act: () => Promise<Result>,
      outcomeOf: (result: Result) => AuditOutcome,
    ): Promise<Result>;
  };
  readonly makeSecret: () => string;
  readonly devicesMax: number | null;
  readonly isBehind: () => boolean;
  /** Called after each change: ends sessions and calls that are no longer allowed. */
  readonly changed: () => void;
}

export class Provisioner {
  readonly #deps: ProvisionerDeps;
  readonly #reads: DeviceReads;
  readonly #places = new SharedPlaces(provisioningsMax, provisioningsPerApplicationMax);
  /** Executed requests without their answers, since a secret is not kept. */
  readonly #known: AnswerMemory<Result<null, Refusal<ProvisioningCode>>>;

  constructor(deps: ProvisionerDeps) {
    const { registry, clock } = deps;
    this.#deps = deps;
    this.#reads = {
      findDevice: (deviceId) => registry.peekDevice(deviceId),
      findProduct: (productId) => registry.findProduct(productId),
      countDevices: (appId) => registry.countDevices(appId),
    };
    this.#known = new AnswerMemory(clock, provisioningsKnownMax);
  }

  /** Rejects when the registry cannot be read. */
  async carryOut(request: ProvisioningRequest): Promise<ProvisioningAnswer> {
    const known = this.#known.repeated(request);
    if (known !== null && (await known).ok) return succeed(this.#preview(request, true).result);
    const preview = this.#preview(request, false);
    if (preview.changes.length === 0) return succeed(preview.result);
    const { appId } = request.caller;
    if (!this.#known.hasRoomFor(request))
      return fail(retryable(42901, 'too many changes of devices are remembered'));
    if (this.#deps.isBehind()) return fail(registryUnavailable);
    if (!this.#places.acquire(appId))
      return fail(retryable(42901, 'too many changes of devices are under way'));
    return this.#begin(request).finally(() => this.#places.release(appId));
  }

  #preview({ caller, orders }: ProvisioningRequest, isRepeat: boolean) {
    const { makeSecret, devicesMax } = this.#deps;
    return decideDevices(this.#reads, orders, { appId: caller.appId, isRepeat, makeSecret, devicesMax });
  }

  /** Repeats wait for it from now on. */
  #begin(request: ProvisioningRequest): Promise<ProvisioningAnswer> {
    const answer = this.#change(request);
    this.#known.begin(
      request,
      answer.then((settled) => (settled.ok ? succeed(null) : settled)),
    );
    return answer;
  }

  async #change({ caller, orders }: ProvisioningRequest): Promise<ProvisioningAnswer> {
    const { audit, devices, makeSecret, devicesMax, changed, log } = this.#deps;
    const terms = { appId: caller.appId, isRepeat: false, makeSecret, devicesMax };
    const act = (): Promise<readonly DeviceOutcome[]> =>
      devices.changeDevices(caller.appId, (reads) => decideDevices(reads, orders, terms));
    try {
      const outcomes = await audit.record(intentOf({ caller, orders }), act, auditOutcomeOf);
      changed();
      return succeed(outcomes);
    } catch (error) {
      log.error({ err: error }, 'devices: not changed: registry or audit log not writable; answered 50301');
      return fail(registryUnavailable);
    }
  }
}

const actions = {
  add: 'device.add',
  change: 'device.change',
  remove: 'device.remove',
} as const satisfies Record<ProvisioningRequest['orders'][number]['kind'], AuditAction>;

/** All orders of a request are of one kind. */
function intentOf({ caller, orders }: Pick<ProvisioningRequest, 'caller' | 'orders'>): AuditIntent {
  const { appId, accessKeyId, from } = caller;
  const ids = {
    app_id: appId,
    access_key_id: accessKeyId,
    device_ids: orders.map(({ deviceId }) => deviceId),
  };
  return { operator: 'api', role: null, from, action: actions[orders[0]?.kind ?? 'add'], ids };
}

function auditOutcomeOf(outcomes: readonly DeviceOutcome[]): AuditOutcome {
  const changed = outcomes.filter(({ isChanged }) => isChanged).length;
  const refused = outcomes.filter(({ code }) => code !== 0).length;
  return { result: changed === 0 ? 'refused' : 'ok', ids: { counts: { changed, refused } } };
}

export const registryUnavailable: Refusal<ProvisioningCode> = retryable(
  50301,
  'the registry cannot be changed now',
);
