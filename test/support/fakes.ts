/** Fakes of the ports: in memory, scripted, and they record calls. */
import assert from 'node:assert/strict';
import type { ConnectionRecord } from '../../src/model/connectivity.ts';
import { sessionEvent, type SessionTransition } from '../../src/model/state/session-event.ts';
import type { EventDraft } from '../../src/model/events.ts';
import type {
  AccessKeyId,
  ApplicationId,
  DeviceId,
  ProductId,
  RequestId,
  SessionId,
  WakeupId,
} from '../../src/model/ids.ts';
import type { Bridge, Credential, Device, Product } from '../../src/model/registry.ts';
import type { CustomData, SleepEndReason, WakeWriteResult } from '../../src/model/sleep.ts';
import type { ConnectionRecords, CallRecords, WakeupRecords } from '../../src/core/ports/records.ts';
import type { DeliveryResult, DeviceMessage, SignalEndReason } from '../../src/model/signal.ts';
import type { CallSession, LegCloseReason, LegMessage } from '../../src/model/call.ts';
import type { PlacedLeg } from '../../src/core/ports/leg-service.ts';
import type { Log } from '../../src/lib/log.ts';
import { byteTextOf } from '../../src/lib/utf8.ts';
import type { RegistryReader } from '../../src/core/ports/registry-reader.ts';
import type { SignalConnection, SleepConnection } from '../../src/core/ports/device-sessions.ts';
import type { KnownWakeup, WakeupName, WakeupRecord } from '../../src/model/wakeup.ts';
import type { Telemetry } from '../../src/telemetry/telemetry.ts';

export const testApp = '2818153' as ApplicationId;
export const otherApp = '9999999' as ApplicationId;
export const testDevice = 'TESTDEVICE01' as DeviceId;

export class FakeRegistry implements RegistryReader {
  readonly credentials = new Map<string, Credential>();
  readonly products = new Map<string, Product>();
  readonly devices = new Map<string, Device>();
  readonly bridges: Bridge[] = [];
  failure: Error | null = null;

  constructor() {
    this.products.set('doorbell', { productId: 'doorbell' as ProductId, appIds: [testApp] });
    this.addDevice({});
  }

  addDevice(overrides: Partial<Device>): Device {
    const device: Device = {
      deviceId: testDevice,
      productId: 'doorbell' as ProductId,
      secret: 'device-secret',
      expiresAt: null,
      disabled: false,
      ...overrides,
    };
    this.devices.set(device.deviceId, device);
    return device;
  }

  findCredential(accessKeyId: AccessKeyId): Credential | null {
    return this.#read(this.credentials, accessKeyId);
  }

  findProduct(productId: ProductId): Product | null {
    return this.#read(this.products, productId);
  }

  findDevice(deviceId: DeviceId): Device | null {
    return this.#read(this.devices, deviceId);
  }

  peekDevice(deviceId: DeviceId): Device | null {
    return this.findDevice(deviceId);
  }

  countDevices(appId: ApplicationId): number {
    const isOwn = ({ productId }: Device): boolean =>
      this.products.get(productId)?.appIds.includes(appId) ?? false;
    return [...this.devices.values()].filter(isOwn).length;
  }

  findBridges(keySha256: string): readonly Bridge[] {
    if (this.failure !== null) throw this.failure;
    return this.bridges.filter((bridge) => bridge.keySha256 === keySha256);
  }

  #read<Value>(values: Map<string, Value>, key: string): Value | null {
    if (this.failure !== null) throw this.failure;
    return values.get(key) ?? null;
  }
}

export class FakeRecords implements ConnectionRecords {
  readonly records = new Map<DeviceId, ConnectionRecord>();
  readonly writes: ConnectionRecord[] = [];
  readonly events: EventDraft[];
  failure: Error | null = null;
  outstanding: Promise<void> | null = null;

  /** `events`: list to append to; a list shared by several stores shows their order. */
  constructor(events: EventDraft[] = []) {
    this.events = events;
  }

  read(deviceId: DeviceId): ConnectionRecord | null {
    if (this.failure !== null) throw this.failure;
    return this.records.get(deviceId) ?? null;
  }

  ids(first: string, last: string): readonly string[] {
    if (this.failure !== null) throw this.failure;
    const ids = Array.from(this.records.keys(), byteTextOf);
    return ids.filter((id) => id >= first && id <= last).sort();
  }

  write(deviceId: DeviceId, record: ConnectionRecord, transition: SessionTransition | null): void {
    this.records.set(deviceId, record);
    this.writes.push(record);
    if (transition !== null) this.events.push(sessionEvent(deviceId, transition));
  }

  committed(): Promise<void> | null {
    return this.outstanding;
  }

  async allCommitted(): Promise<void> {
    await this.outstanding;
  }
}

export class FakeCallRecords implements CallRecords {
  readonly records = new Map<DeviceId, readonly CallSession[]>();
  readonly events: EventDraft[];
  /** The sessions of the device after each write. */
  readonly writes: (readonly CallSession[])[] = [];
  failure: Error | null = null;
  outstanding: Promise<void> | null = null;
  overloaded = false;

  constructor(events: EventDraft[] = []) {
    this.events = events;
  }

  read(deviceId: DeviceId): readonly CallSession[] {
    if (this.failure !== null) throw this.failure;
    return this.records.get(deviceId) ?? [];
  }

  write(deviceId: DeviceId, sessions: readonly CallSession[], event: EventDraft | null): void {
    if (sessions.length === 0) this.records.delete(deviceId);
    else this.records.set(deviceId, sessions);
    this.writes.push(sessions);
    if (event !== null) this.events.push(event);
  }

  committed(): Promise<void> | null {
    return this.outstanding;
  }

  *all(): Generator<{ readonly deviceId: DeviceId; readonly sessions: readonly CallSession[] }> {
    if (this.failure !== null) throw this.failure;
    for (const [deviceId, sessions] of this.records) yield { deviceId, sessions };
  }

  isOverloaded(): boolean {
    return this.overloaded;
  }
}

/** Media processes without load figures, in an order that a test may change. */
export class FakePlacement {
  processes: readonly number[] = [0, 1];
  readonly expected = new Map<SessionId, number>();
  /** The process of each call that has a leg. */
  readonly held = new Map<SessionId, number>();

  order(sessionId: SessionId): readonly number[] {
    const held = this.held.get(sessionId);
    return held === undefined ? this.processes : [held];
  }

  mayBeAt(sessionId: SessionId, process: number): boolean {
    return (this.held.get(sessionId) ?? process) === process;
  }

  expect(sessionId: SessionId, process: number): void {
    if (!this.expected.has(sessionId)) this.expected.set(sessionId, process);
  }
}

export class FakeCallLeg implements PlacedLeg {
  readonly process: number;
  readonly messages: LegMessage[] = [];
  readonly closes: LegCloseReason[] = [];

  constructor(process = 0) {
    this.process = process;
  }

  notify(message: LegMessage): void {
    this.messages.push(message);
  }

  close(reason: LegCloseReason): void {
    this.closes.push(reason);
  }
}

/** The application's latest wakeup with this request id; `deviceId`: only of this device. */
export function latestOf(appId: ApplicationId, requestId: RequestId, deviceId?: DeviceId): WakeupName {
  return { appId, requestId, which: deviceId === undefined ? null : { deviceId } };
}

export class FakeWakeupRecords implements WakeupRecords {
  readonly records = new Map<string, KnownWakeup>();
  readonly events: EventDraft[];
  full = false;
  outstanding: Promise<void> | null = null;

  constructor(events: EventDraft[] = []) {
    this.events = events;
  }

  find({ appId, requestId, which }: WakeupName): WakeupRecord | null {
    if (typeof which === 'string') return this.records.get(keyOf(appId, requestId, which))?.record ?? null;
    const bearing = this.#bearing(requestId, which?.deviceId ?? null);
    return bearing.find((known) => known.appId === appId)?.record ?? null;
  }

  list(requestId: RequestId, deviceId: DeviceId | null, limit = Infinity): KnownWakeup[] {
    return this.#bearing(requestId, deviceId)
      .slice(0, limit)
      .map((known) => {
        const { id, repeatOf } = known.record;
        if (repeatOf === undefined) return known;
        const first = this.records.get(keyOf(known.appId, repeatOf, id)) ?? known;
        return { ...known, record: { ...first.record, repeatOf } };
      });
  }

  #bearing(requestId: RequestId, deviceId: DeviceId | null): KnownWakeup[] {
    return Array.from(this.records.values())
      .filter((known) => known.requestId === requestId)
      .filter(({ record }) => deviceId === null || record.deviceId === deviceId)
      .toSorted((one, other) => (one.record.id < other.record.id ? 1 : -1));
  }

  save(...[appId, requestId, record, event, isFirst]: Parameters<WakeupRecords['save']>): void {
    const key = keyOf(appId, requestId, record.id);
    assert.ok(isFirst !== true || !this.records.has(key), 'a first record has none before it');
    this.records.set(key, { appId, requestId, record });
    if (event !== null) this.events.push(event);
  }

  committed(_wakeup: KnownWakeup): Promise<void> | null {
    return this.outstanding;
  }

  awaited(): KnownWakeup[] {
    return Array.from(this.records.values())
      .filter(({ record }) => record.isAwaited)
      .toSorted((a, b) => a.record.begunAtMs - b.record.begunAtMs);
  }

  isFull(): boolean {
    return this.full;
  }
}

function keyOf(appId: ApplicationId, requestId: RequestId, id: WakeupId): string {
  return `${requestId}\n${appId}\n${id}`;
}

/** Wakes stay pending until the test completes them, unless `immediately` has a result. */
export class FakeConnection implements SleepConnection {
  lastHeartbeatAt = 0;
  isOpen = true;
  readonly wakes: CustomData[] = [];
  readonly closes: SleepEndReason[] = [];
  immediately: WakeWriteResult | null = 'written';
  readonly #waiting: ((result: WakeWriteResult) => void)[] = [];

  wake(customData: CustomData): Promise<WakeWriteResult> {
    this.wakes.push(customData);
    if (this.immediately !== null) return Promise.resolve(this.immediately);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  completeWakes(result: WakeWriteResult): void {
    for (const resolve of this.#waiting.splice(0)) resolve(result);
  }

  close(reason: SleepEndReason): void {
    this.closes.push(reason);
  }
}

/** Messages stay pending until the test completes them, unless `immediately` has a result. */
export class FakeSignalConnection implements SignalConnection {
  lastHeartbeatAt = 0;
  readonly messages: DeviceMessage[] = [];
  readonly closes: (SignalEndReason | 'denied')[] = [];
  immediately: DeliveryResult | null = 'acknowledged';
  readonly #waiting: ((result: DeliveryResult) => void)[] = [];

  deliver(message: DeviceMessage): Promise<DeliveryResult> {
    this.messages.push(message);
    if (this.immediately !== null) return Promise.resolve(this.immediately);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  completeDeliveries(result: DeliveryResult): void {
    for (const resolve of this.#waiting.splice(0)) resolve(result);
  }

  /** Later closes of a denied connection are ignored, as by the real one. */
  close(reason: SignalEndReason | 'denied'): void {
    if (this.closes[0] !== 'denied') this.closes.push(reason);
  }

  deny(): void {
    this.close('denied');
  }
}

export class FakeTelemetry implements Telemetry {
  readonly counts = new Map<string, number>();
  failOnWakeup: Error | null = null;

  count(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  httpRequest(route: string, status: number, code: number): void {
    this.#add(`http ${route} ${status} ${code}`);
  }
  longPoll(route: string, status: number, code: number): void {
    this.#add(`long poll ${route} ${status} ${code}`);
  }
  authFailure(reason: string): void {
    this.#add(`auth ${reason}`);
  }
  opsAuthFailure(credential: string): void {
    this.#add(`ops auth ${credential}`);
  }
  sleepLogin(result: string): void {
    this.#add(`login ${result}`);
  }
  refusedLogin(reason: string): void {
    this.#add(`refused login ${reason}`);
  }
  sleepEnd(reason: string): void {
    this.#add(`end ${reason}`);
  }
  wakeup(outcome: string): void {
    if (this.failOnWakeup !== null) throw this.failOnWakeup;
    this.#add(`wakeup ${outcome}`);
  }
  peerAsk(result: string): void {
    this.#add(`ask ${result}`);
  }
  peerAnswerTime(): void {
    this.#add('ask time');
  }
  frontCredentials(): void {
    this.#add('front credentials');
  }
  wakeupWrite(): void {
    this.#add('wakeup write');
  }
  wakeupToOnline(): void {
    this.#add('wakeup to online');
  }
  signalLogin(result: string): void {
    this.#add(`signal login ${result}`);
  }
  signalEnd(reason: string): void {
    this.#add(`signal end ${reason}`);
  }
  message(outcome: string): void {
    this.#add(`message ${outcome}`);
  }
  event(type: string): void {
    this.#add(`event ${type}`);
  }
  webhookDelivery(result: string, count = 1): void {
    for (let i = 0; i < count; i++) this.#add(`webhook ${result}`);
  }
  callCredentials(outcome: string): void {
    this.#add(`credentials ${outcome}`);
  }
  callEnd(reason: string): void {
    this.#add(`call end ${reason}`);
  }
  callReport(result: string): void {
    this.#add(`call report ${result}`);
  }
  callRejection(result: string): void {
    this.#add(`call rejection ${result}`);
  }
  bridgeAnswer(result: string): void {
    this.#add(`bridge answer ${result}`);
  }
  mediaLogin(result: string): void {
    this.#add(`media login ${result}`);
  }
  mediaFrames(result: string, count = 1): void {
    for (let i = 0; i < count; i++) this.#add(`media frame ${result}`);
  }
  mediaRebuilds(count: number): void {
    for (let i = 0; i < count; i++) this.#add('media rebuild');
  }
  mediaFrameTime(): void {
    this.#add('media frame time');
  }

  #add(name: string): void {
    this.counts.set(name, this.count(name) + 1);
  }
}

export class FakeLog implements Log {
  readonly lines: { level: string; fields: object; message: string }[] = [];
  debug = this.#at('debug');
  info = this.#at('info');
  warn = this.#at('warn');
  error = this.#at('error');

  #at(level: string): (fields: object, message: string) => void {
    return (fields, message) => {
      this.lines.push({ level, fields, message });
    };
  }
}
