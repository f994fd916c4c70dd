/**
 * A simulated backend: wakes and queries devices, reads the log by cursor, issues and ends calls at any process, and repeats
 * signed requests. It records all responses, and checks a response at once if no fault can explain a wrong one.
 */
import type { LoggedEvent, EventsStart } from '../../src/model/events.ts';
import type { DeviceId, RequestId, SessionId } from '../../src/model/ids.ts';
import type { WakeupRequest } from '../../src/model/wakeup.ts';
import { StoredEvents } from '../../src/storage/events/stored-events.ts';
import { callMedia } from '../support/call-scene.ts';
import type { Callers } from './media.ts';
import type { Requests } from './requests.ts';
import { app, otherApp } from './names.ts';
import { troubleMs, type Life, type Place, type Site } from './site.ts';

const onesMs = 1000;

interface WakingCount {
  begun: number;
  /** Requests without a response or a timeout. */
  open: number;
}

export class Backend {
  readonly #site: Site;
  readonly #requests: Requests;
  readonly #callers: Callers;
  #made = 0;
  #cursor: EventsStart = 'oldest';
  #isReading = false;
  readonly #waking = new Map<DeviceId, WakingCount>();
  /** The latest event read, by device. */
  readonly #last = new Map<DeviceId, Pick<LoggedEvent, 'seq' | 'sequence'>>();

  constructor(site: Site, requests: Requests, callers: Callers) {
    this.#site = site;
    this.#requests = requests;
    this.#callers = callers;
  }

  get cursor(): EventsStart {
    return this.#cursor;
  }

  /** Follows the log, each time at another process. */
  follow(): void {
    this.#isReading = true;
    this.#readOn();
  }

  stopReading(): void {
    this.#isReading = false;
  }

  stir(): void {
    const { chance } = this.#site;
    const deviceId = this.#site.devices[chance.below(this.#site.devices.length)];
    const place = this.#site.anyServing();
    if (deviceId === undefined || place === null) return;
    const lot = chance.next();
    if (lot < 0.45) this.wake(place, deviceId);
    else if (lot < 0.8) this.query(place, deviceId);
    else this.call(place, deviceId);
  }

  wake(place: Place, deviceId: DeviceId, isRepeated = this.#site.chance.next() < 0.3): void {
    const { evidence, registry, timeline } = this.#site;
    const number = (this.#made += 1);
    const request: WakeupRequest = {
      appId: app,
      deviceId,
      customData: null,
      customDataText: null,
      requestId: `wakeup-${number}` as RequestId,
      signature: number.toString(16).padStart(64, '0'),
      signatureExpiresMs: Date.UTC(2026, 10, 20, 9, 30, 0),
    };
    const begunMs = timeline.nowMs;
    evidence.sent(request);
    const what = `wake ${deviceId} as ${request.requestId}`;
    void this.#askToWake(place, this.#wakingOf(deviceId), what, async (life) => {
      const forbidden = registry.forbids(deviceId, life);
      const answer = await life.member.wake(request);
      return () => {
        if (!answer.ok) return String(answer.error.code);
        if (forbidden !== null)
          evidence.violated(11, `${deviceId} was ${forbidden.kind}, but ${life.name} wakes it`);
        this.#judgeWakeup(deviceId, begunMs, request);
        evidence.accepted(request, life);
        if (isRepeated) timeline.after(2000, null, () => this.#repeat(request));
        return '202';
      };
    });
  }

  query(place: Place, deviceId: DeviceId): void {
    const { evidence, registry, timeline } = this.#site;
    const begunMs = timeline.nowMs;
    void this.#requests.ask(place, `query ${deviceId}`, async (life) => {
      const forbidden = registry.forbids(deviceId, life);
      const answer = await life.member.query(app, deviceId);
      return () => {
        if (!answer.ok) return String(answer.error.code);
        evidence.count('queries');
        if (forbidden !== null)
          evidence.violated(11, `${deviceId} was ${forbidden.kind}, but ${life.name} answers its query`);
        const { isOnline } = answer.value.signal;
        if (!isOnline) this.#judgeOffline(place, deviceId, begunMs);
        return isOnline ? 'online' : 'offline';
      };
    });
  }

  call(place: Place, deviceId: DeviceId): void {
    const { chance, evidence, timeline } = this.#site;
    const number = (this.#made += 1);
    const room = {
      msgAppId: 'wx0123456789abcdef',
      modelId: 'model',
      roomId: `room-${number}`,
      sessionKey: 'key',
      sessionToken: 'token',
      payload: '',
    };
    const signed = { signatureExpiresMs: Date.UTC(2026, 10, 20, 9, 30, 0) };
    const appId = chance.next() < 0.8 ? app : otherApp;
    const order = { appId, deviceId, room, media: callMedia, callingTimeoutS: 15, ...signed };
    const signature = `ca${number.toString(16).padStart(62, '0')}`;
    void this.#requests.ask(place, `issue a call of ${deviceId}`, async (life) => {
      const answer = await life.member.issue({ ...order, signature });
      return () => {
        if (!answer.ok) return String(answer.error.code);
        const session = sessionOf(answer.value.token);
        evidence.calls.set(session, {
          appId,
          deviceId,
          session,
          issuedMs: timeline.nowMs,
          isEnded: false,
        });
        this.#callers.issued(session, answer.value.token);
        timeline.after(500 + chance.next() * 20_000, null, () => this.#endCall(session));
        return `call ${evidence.name('c', session)}`;
      };
    });
  }

  /** Reads the log of this process to its end. */
  async readAll(place: Place): Promise<void> {
    for (let more = true; more;) more = await this.#readAt(place, 0);
  }

  #endCall(session: SessionId): void {
    const { evidence, chance } = this.#site;
    const place = this.#site.anyServing();
    const fact = evidence.calls.get(session);
    if (place === null || fact === undefined) return;
    const { appId, deviceId } = fact;
    const number = (this.#made += 1);
    const signature = `ee${number.toString(16).padStart(62, '0')}`;
    const order = {
      appId,
      deviceId,
      call: { kind: 'session', sessionId: session },
      reason: 'cancelled',
      signature,
      signatureExpiresMs: Date.UTC(2026, 10, 20, 9, 30, 0),
    } as const;
    void this.#requests.ask(place, `end ${evidence.name('c', session)}`, async (life) => {
      const answer = await life.member.end(order);
      return () => {
        if (answer.ok) fact.isEnded = true;
        if (answer.ok && chance.next() < 0.3) this.#endCall(session);
        return answer.ok ? 'ended' : String(answer.error.code);
      };
    });
  }

  /** Repeats a signature at another process: the response is the same, and no second packet is written. */
  #repeat(request: WakeupRequest): void {
    const { evidence, weather } = this.#site;
    const place = this.#site.anyServing();
    if (place === null) return;
    const { deviceId } = request;
    const writes = (): number => evidence.writes.filter((write) => write.deviceId === deviceId).length;
    const waking = this.#wakingOf(deviceId);
    const [isFirst, begun] = [waking.open === 0, waking.begun + 1];
    const written = writes();
    evidence.sent(request);
    void this.#askToWake(place, waking, `repeat ${request.requestId}`, async (life) => {
      const answer = await life.member.wake(request);
      return () => {
        // Another wakeup may have been written before its response arrived.
        const isAlone = isFirst && waking.begun === begun;
        if (answer.ok) evidence.accepted(request, life);
        // The other nodes learn of the wakeup from a message, which may be lost.
        if (isAlone && this.#site.isUntroubled() && weather.lossShare === 0) {
          evidence.count('repeats');
          if (writes() > written)
            evidence.violated(6, `the repeat of ${request.requestId} was written again`);
        }
        return answer.ok ? '202' : String(answer.error.code);
      };
    });
  }

  async #askToWake(
    place: Place,
    waking: WakingCount,
    ...asked: Parameters<Requests['ask']> extends [unknown, ...infer Rest] ? Rest : never
  ): Promise<void> {
    waking.begun += 1;
    waking.open += 1;
    await this.#requests.ask(place, ...asked);
    waking.open -= 1;
  }

  #wakingOf(deviceId: DeviceId): WakingCount {
    const waking = this.#waking.get(deviceId) ?? { begun: 0, open: 0 };
    this.#waking.set(deviceId, waking);
    return waking;
  }

  #judgeWakeup(deviceId: DeviceId, begunMs: number, { requestId }: WakeupRequest): void {
    const { evidence } = this.#site;
    evidence.count('wakeups');
    const isWritten = evidence.writes.some((write) => write.deviceId === deviceId && write.atMs >= begunMs);
    if (!isWritten) evidence.violated(6, `${requestId} of ${deviceId} was answered 202 without a write`);
  }

  /** Violation: an offline answer although a welcomed session lives at a process without faults. */
  #judgeOffline(asked: Place, deviceId: DeviceId, begunMs: number): void {
    const { evidence } = this.#site;
    if (!this.#site.isUntroubled(asked)) return;
    const missed = evidence
      .living('signal', deviceId)
      .find(
        ({ welcomedMs, isProvisional, holder, wire }) =>
          welcomedMs !== null &&
          welcomedMs + (isProvisional ? troubleMs : 0) < begunMs &&
          this.#site.isUntroubled(holder.place) &&
          !wire.isPeerClosed,
      );
    if (missed !== undefined)
      evidence.violated(
        4,
        `${deviceId} was reported offline while ${evidence.name('s', missed.session)} lives`,
      );
  }

  /** A session may end as lost with its edge, or with the link of a remote one, but never with the core. */
  #judgeLost({ data, deviceId }: LoggedEvent): void {
    const { evidence, topology } = this.#site;
    if (topology !== 'edges' || !('reason' in data && 'session' in data) || data.reason !== 'node_lost')
      return;
    const fact = evidence.asleep(data.session);
    if (fact?.kind === 'sleep' && this.#site.isUntroubled(fact.holder.place))
      evidence.violated(14, `${evidence.name('s', data.session)} of ${deviceId} is reported lost, but lives`);
  }

  #readOn(): void {
    const { chance, timeline } = this.#site;
    if (!this.#isReading) return;
    const place = this.#site.anyServing();
    const waitMs = chance.next() < 0.5 ? 0 : chance.next() * 3 * onesMs;
    const read = place === null ? Promise.resolve(false) : this.#readAt(place, waitMs);
    void read.then(() => timeline.after(100 + chance.next() * 700, null, () => this.#readOn()));
  }

  /** False: no events, or no response. */
  async #readAt(place: Place, waitMs: number): Promise<boolean> {
    const { evidence } = this.#site;
    let isMore = false;
    await this.#requests.ask(place, `read behind ${String(this.#cursor)}`, async (life) => {
      const answer = await life.member.read(app, this.#cursor, waitMs);
      return () => {
        if (!answer.ok) return String(answer.error.code);
        const { events, next, truncated } = answer.value;
        if (truncated)
          evidence.violated(1, `the log at ${life.name} does not reach to ${String(this.#cursor)}`);
        for (const event of events) this.#judgeEvent(event, life);
        isMore = events.length > 0;
        this.#cursor = next;
        return `${events.length} events, then ${next}`;
      };
    });
    return isMore;
  }

  #judgeEvent(event: LoggedEvent, life: Life): void {
    const { evidence } = this.#site;
    evidence.count('events');
    const { deviceId, seq, sequence } = event;
    const last = this.#last.get(deviceId) ?? { seq: 0, sequence: 0 };
    const log = new StoredEvents(life.store.state);
    // Events of devices that are not in the registry are readable by no application.
    const between = seq === last.seq + 1 ? [] : log.read(last.sequence, sequence - last.sequence - 1);
    const own = between.filter((other) => other.deviceId === deviceId && other.sequence < sequence);
    if (seq !== last.seq + own.length + 1 || own.some(({ productId }) => productId !== null))
      evidence.violated(1, `at ${life.name} event ${seq} of ${deviceId} followed ${last.seq}`);
    if (evidence.read.has(event.id))
      evidence.violated(1, `an event of ${event.deviceId} was delivered twice`);
    this.#last.set(deviceId, { seq, sequence });
    evidence.read.set(event.id, event);
    this.#judgeLost(event);
    evidence.record(`read ${event.sequence}: ${describe(event, (kind, id) => evidence.name(kind, id))}`);
  }
}

export function describe(
  { type, deviceId, seq, data }: LoggedEvent,
  name: (kind: string, id: string) => string,
): string {
  const words: string[] = [deviceId, String(seq), type];
  if ('session' in data) words.push(name(type.startsWith('call') ? 'c' : 's', data.session));
  if ('reason' in data && data.reason !== null) words.push(data.reason);
  if ('request_id' in data) words.push(data.request_id);
  if ('recovered' in data) words.push('recovered');
  return words.join(' ');
}

function sessionOf(token: string): SessionId {
  const [, payload = ''] = token.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { readonly sid: SessionId };
  return claims.sid;
}
