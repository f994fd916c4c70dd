/** The backend of the story: it asks, wakes and sends by signed requests, and shows what the API says. */
import type { WireEvent } from '../server/event-answer.ts';
import { sendApiRequest, type ApiAnswer } from './api-request.ts';
import { DemoFailure, untilRight } from './demo-failure.ts';
import type { DemoStage } from './demo-stage.ts';
import { tellingPart } from './events-line.ts';
import type { Timeline } from './timeline.ts';
import { askOutcome, describeOutcome, type WakeupOutcome } from './wakeup-outcome.ts';
import { requestIdOf, submitWakeup } from './wakeup-request.ts';

/** As the API has them: whole Unix seconds, or null. */
export interface ConnectionTimes {
  readonly last_login_at: number | null;
  readonly last_heartbeat_at: number | null;
  readonly last_offline_at: number | null;
}

export interface Connectivity {
  readonly signal: ConnectionTimes & { readonly is_online: boolean };
  readonly sleep: ConnectionTimes;
}

/** Long enough to be worth it, short enough to ask again within our patience. */
const waitSeconds = 2;

export class DemoBackend {
  readonly #stage: DemoStage;
  readonly #timeline: Timeline;

  constructor(stage: DemoStage, timeline: Timeline) {
    this.#stage = stage;
    this.#timeline = timeline;
  }

  async expectConnectivity(
    phase: string,
    expected: string,
    isRight: (record: Connectivity) => boolean,
  ): Promise<void> {
    const query = `device_id=${this.#stage.device.deviceId}`;
    const record = await untilRight(
      this.#stage.access.clock,
      `connectivity with ${expected}`,
      async () => dataOf(await this.#get('/v1/device/connectivity', query)) as Connectivity,
      isRight,
    );
    const { signal, sleep } = record;
    this.#timeline.tell('backend', `connectivity, ${phase}:`, { signal, sleep }, [
      `  signal  ${signal.is_online ? 'online ' : 'offline'}  ${timesOf(signal)}`,
      `  sleep            ${timesOf(sleep)}`,
    ]);
  }

  /** The request id of a wakeup that was accepted. */
  async wake(customData?: string): Promise<string> {
    const answer = await this.#submit(customData);
    const requestId = requestIdOf(answer);
    if (answer.status !== 202 || answer.code !== 0 || requestId === null)
      throw new DemoFailure('HTTP 202, code 0', answer.text);
    const said = `signed wakeup${withData(customData)}: HTTP 202, code 0, request ${requestId}`;
    this.#timeline.tell('backend', said, { answer: answer.json });
    return requestId;
  }

  async expectRefusal(code: number, customData: string, why: string): Promise<void> {
    const answer = await this.#submit(customData);
    if (answer.code !== code) throw new DemoFailure(`code ${code}: ${why}`, answer.text);
    const said = `signed wakeup${withData(customData)}: HTTP ${answer.status}, code ${code}: ${why}`;
    this.#timeline.tell('backend', said, { answer: answer.json });
  }

  async expectOutcome(
    requestId: string,
    expected: string,
    isRight: (outcome: WakeupOutcome) => boolean,
  ): Promise<void> {
    const { access } = this.#stage;
    const outcome = await untilRight(
      access.clock,
      `the outcome ${expected}`,
      async () => dataOf(await askOutcome(access, requestId, waitSeconds)) as WakeupOutcome,
      isRight,
    );
    const said = `outcome of that wakeup: ${outcome.status}, ${describeOutcome(outcome)}`;
    this.#timeline.tell('backend', said, { outcome });
  }

  /** Resolves when the device has acknowledged it. */
  async sendMessage(name: string, payload: object): Promise<void> {
    const { access, device } = this.#stage;
    const body = Buffer.from(JSON.stringify({ device_id: device.deviceId, name, payload }));
    const target = { path: '/v1/device/message', rawQuery: '' };
    const answer = await sendApiRequest({ ...access, method: 'POST', target, body }, access.clock);
    if (answer.status !== 200) throw new DemoFailure('HTTP 200, code 0', answer.text);
    const { acknowledged_at: at } = dataOf(answer) as { readonly acknowledged_at: string };
    const said = `signed message ${name}: HTTP 200, code 0, acknowledged at ${at}`;
    this.#timeline.tell('backend', said, { answer: answer.json });
  }

  /** Where the log of events ends now, to read on from there. */
  async endOfLog(): Promise<string> {
    return (dataOf(await this.#get('/v1/events', 'after=latest')) as EventPage).next;
  }

  /** Every event of this device behind the cursor, to the last that `isLast`. */
  async tellEvents(cursor: string, isLast: (event: WireEvent) => boolean): Promise<readonly WireEvent[]> {
    const { access, device } = this.#stage;
    const found: WireEvent[] = [];
    let after = cursor;
    const readOn = async (): Promise<readonly WireEvent[]> => {
      const query = `after=${encodeURIComponent(after)}&limit=1000&wait=${waitSeconds}`;
      const { events, next } = dataOf(await this.#get('/v1/events', query)) as EventPage;
      after = next;
      found.push(...events.filter((event) => event.device_id === device.deviceId));
      return found;
    };
    await untilRight(access.clock, 'all events of the story', readOn, (events) => events.some(isLast));
    this.#timeline.tell('backend', `GET /v1/events: ${found.length} events of this device`);
    for (const event of found) {
      const seq = `seq ${String(event.seq).padStart(2)}`;
      this.#timeline.tell('event log', `${seq}  ${event.type.padEnd(typeWidth)}  ${tellingPart(event)}`, {
        event,
      });
    }
    return found;
  }

  #submit(customData: string | undefined): Promise<ApiAnswer> {
    const { access, device } = this.#stage;
    return submitWakeup(access, { deviceId: device.deviceId, customData });
  }

  #get(path: string, rawQuery: string): Promise<ApiAnswer> {
    const { access } = this.#stage;
    const request = { ...access, method: 'GET', target: { path, rawQuery }, body: null };
    return sendApiRequest(request, access.clock);
  }
}

/** The longest type that a wake has. */
const typeWidth = 'device.wakeup.completed'.length;

interface EventPage {
  readonly events: readonly WireEvent[];
  readonly next: string;
}

function dataOf({ code, json, text }: ApiAnswer): unknown {
  if (code !== 0 || json?.['data'] === undefined) throw new DemoFailure('code 0 and data', text);
  return json['data'];
}

function timesOf({ last_login_at, last_heartbeat_at, last_offline_at }: ConnectionTimes): string {
  const cell = (time: number | null): string => String(time ?? '-').padEnd(10);
  return `login ${cell(last_login_at)}  heartbeat ${cell(last_heartbeat_at)}  offline ${last_offline_at ?? '-'}`;
}

function withData(customData: string | undefined): string {
  return customData === undefined ? '' : ` with custom_data ${customData}`;
}
