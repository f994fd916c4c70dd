/** One device that can sleep, be woken and come online, with all dependencies of a wakeup in memory. */
import { noPeers } from '../../src/core/ports/peers.ts';
import type { Cancel } from '../../src/lib/clock.ts';
import { DeviceDirectory } from '../../src/core/devices/device-directory.ts';
import { UnclaimedSessions } from '../../src/core/devices/unclaimed-sessions.ts';
import { sleepSessions } from '../../src/core/devices/admit-session.ts';
import { LoginRates } from '../../src/core/devices/login-rates.ts';
import { RefusedLogins } from '../../src/core/devices/refused-logins.ts';
import { SessionConflicts } from '../../src/core/devices/session-conflicts.ts';
import type { Admission, MovedSession, SleepSessions } from '../../src/core/ports/device-sessions.ts';
import { WakeupWatch } from '../../src/core/wakeups/wakeup-watch.ts';
import type { EventDraft } from '../../src/model/events.ts';
import type { ApplicationId, ProductId, RequestId, SessionId } from '../../src/model/ids.ts';
import type { SignalEndReason } from '../../src/model/signal.ts';
import type { SleepEndReason, WakeMode } from '../../src/model/sleep.ts';
import type { WakeupRecord, WakeupRequest } from '../../src/model/wakeup.ts';
import type { WakeupDeps } from '../../src/core/wakeups/do-wakeup.ts';
import { submitWakeup } from '../../src/core/wakeups/submit-wakeup.ts';
import { WakeupLimits } from '../../src/core/devices/request-limits.ts';
import { WakeupMemory } from '../../src/core/wakeups/wakeup-memory.ts';
import { DrivenClock } from './driven-clock.ts';
import {
  FakeConnection,
  FakeLog,
  FakeRecords,
  FakeRegistry,
  FakeSignalConnection,
  FakeTelemetry,
  FakeWakeupRecords,
  latestOf,
  otherApp,
  testApp,
  testDevice,
} from './fakes.ts';

export interface SceneLimits {
  readonly inFlightMax?: number;
  readonly signaturesMax?: number;
  readonly applicationBurst?: number;
  readonly deviceBurst?: number;
  readonly watchedMax?: number;
}

export class WakeupScene {
  readonly clock = new DrivenClock();
  readonly registry = new FakeRegistry();
  readonly events: EventDraft[] = [];
  readonly records = new FakeWakeupRecords(this.events);
  readonly telemetry = new FakeTelemetry();
  readonly log = new FakeLog();
  readonly connection = new FakeConnection();
  draining = false;
  directory: DeviceDirectory;
  watch: WakeupWatch;
  unclaimed: UnclaimedSessions;
  deps: WakeupDeps;
  readonly #limits: SceneLimits;
  readonly #sleepRecords = new FakeRecords(this.events);
  readonly #signalRecords = new FakeRecords(this.events);
  #stop: Cancel;
  #signatures = 0;
  #sessions = 0;

  constructor(limits: SceneLimits = {}) {
    this.#limits = limits;
    this.watch = this.#newWatch();
    this.directory = this.#newDirectory();
    this.unclaimed = this.#newUnclaimed();
    this.deps = this.#newDeps();
    this.#stop = this.watch.start();
  }

  /** The process dies and another starts on its store, where it closes open sessions. */
  restart(): void {
    this.#stop();
    this.endSleep('node_lost');
    this.disconnectController('node_lost');
    this.#start();
  }

  /** The process dies while the device sleeps, and another starts. The device's edge may then resume the returned session. */
  restartCore(): MovedSession {
    const actor = this.directory.find(testDevice);
    const sessionId = actor?.session('sleep') ?? null;
    if (actor === null || sessionId === null) throw new Error('the device does not sleep');
    const moved = {
      deviceId: testDevice,
      sessionId,
      wakeMode: 'custom',
      secretMark: actor.secretMark,
    } as const;
    this.#stop();
    this.#start();
    return moved;
  }

  die(): void {
    this.#stop();
  }

  sleep(wakeMode: WakeMode = 'custom'): this {
    this.directory.claim(testDevice).post({
      to: 'sleep',
      event: { kind: 'login', sessionId: this.#session(), atMs: this.clock.wallMs(), heartbeatAt: 0 },
      connection: this.connection,
      wakeMode,
      secretMark: 0,
    });
    return this;
  }

  endSleep(reason: SleepEndReason): void {
    const actor = this.directory.find(testDevice);
    const session = actor?.session('sleep') ?? null;
    if (session === null) return;
    const event = {
      kind: 'ended',
      session,
      reason,
      atMs: this.clock.wallMs(),
      heartbeatAt: 0,
    } as const;
    actor?.post({ to: 'sleep', event });
  }

  /** Sleep sessions as the edges of a core use them. */
  get sessions(): SleepSessions<Admission> {
    const { clock, registry, directory, log } = this;
    const refusedLogins = new RefusedLogins(this);
    return this.unclaimed.claiming(
      sleepSessions({
        clock,
        registry,
        directory,
        loginRates: new LoginRates(clock, 1),
        conflicts: new SessionConflicts({
          clock,
          log,
          append: (event) => void this.events.push(event),
          refusedLogins,
        }),
        refusedLogins,
        loginsAreClosed: () => false,
      }),
    );
  }

  /** The controller signals in; a session that is open is replaced. */
  connectController(): SessionId {
    const sessionId = this.#session();
    this.directory.claim(testDevice).post({
      to: 'signal',
      event: { kind: 'login', sessionId, atMs: this.clock.wallMs(), heartbeatAt: 0 },
      connection: new FakeSignalConnection(),
      media: null,
      secretMark: 0,
    });
    return sessionId;
  }

  disconnectController(reason: SignalEndReason = 'peer_closed'): void {
    const actor = this.directory.find(testDevice);
    const session = actor?.session('signal') ?? null;
    if (session === null) return;
    const event = {
      kind: 'ended',
      session,
      reason,
      atMs: this.clock.wallMs(),
      heartbeatAt: 0,
    } as const;
    actor?.post({ to: 'signal', event });
  }

  shareProduct(): void {
    this.registry.products.set('doorbell', {
      productId: 'doorbell' as ProductId,
      appIds: [testApp, otherApp],
    });
  }

  request(overrides: Partial<WakeupRequest> = {}): WakeupRequest {
    this.#signatures += 1;
    return {
      appId: testApp,
      deviceId: testDevice,
      customData: null,
      customDataText: null,
      requestId: `made-${this.#signatures}` as RequestId,
      signature: this.#signatures.toString(16).padStart(64, '0'),
      signatureExpiresMs: this.clock.wallMs() + 300_000,
      ...overrides,
    };
  }

  /** Business code of the answer; 0: accepted. */
  async wake(overrides: Partial<WakeupRequest> = {}): Promise<number> {
    const answer = await submitWakeup(this.deps, this.request(overrides));
    return answer.ok ? 0 : answer.error.code;
  }

  record(requestId: string, appId: ApplicationId = testApp): WakeupRecord | null {
    return this.records.find(latestOf(appId, requestId as RequestId));
  }

  /** The events of wakeups: `completed made-1`. */
  wakeupEvents(): string[] {
    return this.events.flatMap(({ type, data }) =>
      type.startsWith('device.wakeup.')
        ? [`${type.slice('device.wakeup.'.length)} ${'request_id' in data ? String(data.request_id) : ''}`]
        : [],
    );
  }

  #start(): void {
    this.watch = this.#newWatch();
    this.directory = this.#newDirectory();
    this.unclaimed = this.#newUnclaimed();
    this.deps = this.#newDeps();
    this.watch.resume();
    this.#stop = this.watch.start();
  }

  #newWatch(): WakeupWatch {
    const { clock, records, telemetry } = this;
    const { watchedMax } = this.#limits;
    return new WakeupWatch({ clock, records, telemetry }, watchedMax);
  }

  #newDirectory(): DeviceDirectory {
    const directory = new DeviceDirectory({
      sleepRecords: this.#sleepRecords,
      signalRecords: this.#signalRecords,
      node: 'n1',
    });
    directory.follow(this.watch);
    return directory;
  }

  #newUnclaimed(): UnclaimedSessions {
    const { clock, directory } = this;
    return new UnclaimedSessions({ clock, directory });
  }

  #newDeps(): WakeupDeps {
    const { clock, registry, directory, telemetry, log, watch } = this;
    const {
      deviceBurst = 3,
      applicationBurst = 400,
      inFlightMax = 2000,
      signaturesMax = 1000,
    } = this.#limits;
    return {
      clock,
      registry,
      directory,
      unclaimed: this.unclaimed,
      memory: new WakeupMemory(this.records, clock, signaturesMax),
      limits: new WakeupLimits(clock, {
        device: { perSecond: 1, burst: deviceBurst },
        application: { perSecond: 200, burst: applicationBurst },
        inFlightMax,
      }),
      watch,
      telemetry,
      log,
      peers: noPeers,
      cluster: null,
      isDraining: () => this.draining,
    };
  }

  #session(): SessionId {
    this.#sessions += 1;
    return `session-${this.#sessions}` as SessionId;
  }
}
