/** The backend of the demo: it asks, wakes and sends by signed requests, and shows the answers of the API. */
import type {
  ApiResult,
  CallCredentialsBody,
  CallCredentialsData,
  ConnectionTimes,
  ConnectivityData,
  WakeupData,
  WakeupOutcomeData,
} from '../../client/reveille-client.ts';
import type { FailureCode, WakeupCode } from '../../model/codes.ts';
import type { WireEvent } from '../../gateways/admin/event-query.ts';
import { envelopeOf } from '../../cli/api/api-access.ts';
import { DemoFailure, untilRight, type DemoStage } from './demo-stage.ts';
import { credentialLines, showCredentials, type Timeline } from './timeline.ts';
import { formatLocalTime, tellingPart } from '../../cli/api/events-text.ts';
import { describeOutcome } from '../../cli/api/wakeup-outcome.ts';
import { counted } from '../../cli/shell/option-values.ts';

/** Long enough to be worth it, short enough to ask again within our patience. */
const waitS = 2;

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
    isRight: (record: ConnectivityData) => boolean,
  ): Promise<void> {
    const { api, clock, device } = this.#stage;
    const record = await untilRight(
      clock,
      `connectivity with ${expected}`,
      async () => dataOf(await api.connectivity(device.deviceId)),
      isRight,
    );
    const { signal, sleep } = record;
    this.#timeline.notify('backend', `connectivity, ${phase}:`, { signal, sleep }, [
      `  signal  ${signal.is_online ? 'online ' : 'offline'}  ${timesOf(signal)}`,
      `  sleep            ${timesOf(sleep)}`,
    ]);
  }

  /** The request id of a wakeup that was accepted. */
  async wake(customData?: string): Promise<string> {
    const result = await this.#submit(customData);
    const { ok, status, requestId } = result;
    if (!ok || status !== 202) throw new DemoFailure('HTTP 202, code 0', result);
    const said = `signed wakeup${withData(customData)}: HTTP 202, code 0, request ${requestId}`;
    this.#timeline.notify('backend', said, { answer: envelopeOf(result) });
    return requestId;
  }

  async expectRefusal(code: number, customData: string, why: string): Promise<void> {
    const result = await this.#submit(customData);
    if (result.ok || result.code !== code) throw new DemoFailure(`code ${code}: ${why}`, result);
    const said = `signed wakeup${withData(customData)}: HTTP ${result.status}, code ${code}: ${why}`;
    this.#timeline.notify('backend', said, { answer: envelopeOf(result) });
  }

  /** Resolves to the outcome in words. */
  async expectOutcome(
    requestId: string,
    expected: string,
    isRight: (outcome: WakeupOutcomeData) => boolean,
  ): Promise<string> {
    const { api, clock } = this.#stage;
    const outcome = await untilRight(
      clock,
      `the outcome ${expected}`,
      async () => dataOf(await api.wakeupOutcome(requestId, { waitS })),
      isRight,
    );
    const described = describeOutcome(outcome);
    this.#timeline.notify('backend', `outcome of that wakeup: ${outcome.status}, ${described}`, { outcome });
    return described;
  }

  /** Resolves when the device has acknowledged it. */
  async sendMessage(name: string, payload: object): Promise<void> {
    const { api, device } = this.#stage;
    const result = await api.sendMessage(device.deviceId, name, payload);
    const { acknowledged_at: at } = dataOf(result);
    const said = `signed message ${name}: HTTP ${result.status}, code 0, acknowledged at ${at}`;
    this.#timeline.notify('backend', said, { answer: envelopeOf(result) });
  }

  async expectCallStatus(phase: string, inCall: boolean): Promise<void> {
    const { api, clock, device } = this.#stage;
    const status = await untilRight(
      clock,
      `the call status ${inCall ? 'in a call' : 'in no call'}`,
      async () => dataOf(await api.callStatus(device.deviceId)),
      (data) => data.in_call === inCall,
    );
    this.#timeline.notify('backend', `call status, ${phase}: in_call ${inCall}`, { call_status: status });
  }

  /** For a room that a phone has opened. */
  async issueCredentials(body: Omit<CallCredentialsBody, 'device_id'>): Promise<CallCredentialsData> {
    const { api, device } = this.#stage;
    const result = await api.issueCallCredentials({ ...body, device_id: device.deviceId });
    const credentials = dataOf(result);
    const said = `signed call credentials: HTTP ${result.status}, code 0`;
    const shown = { credentials: showCredentials(credentials) };
    this.#timeline.notify('backend', said, shown, credentialLines(credentials));
    return credentials;
  }

  /** Where the log of events ends now, to read on from there. */
  async endOfLog(): Promise<string> {
    return dataOf(await this.#stage.api.events({ after: 'latest' })).next;
  }

  /** Every event of this device behind the cursor, to the last that `isLast`. */
  async notifyEvents(cursor: string, isLast: (event: WireEvent) => boolean): Promise<readonly WireEvent[]> {
    const { api, clock, device } = this.#stage;
    const found: WireEvent[] = [];
    let after = cursor;
    const readOn = async (): Promise<readonly WireEvent[]> => {
      const { events, next } = dataOf(await api.events({ after, limit: 1000, waitS }));
      after = next;
      found.push(...events.filter((event) => event.device_id === device.deviceId));
      return found;
    };
    await untilRight(clock, 'all events of the story', readOn, (events) => events.some(isLast));
    this.#timeline.notify('backend', `GET /v1/events: ${counted(found.length, 'event')} of this device`);
    for (const event of found) {
      const seq = `seq ${String(event.seq).padStart(2)}`;
      this.#timeline.notify('event log', `${seq}  ${event.type.padEnd(typeWidth)}  ${tellingPart(event)}`, {
        event,
      });
    }
    return found;
  }

  #submit(customData: string | undefined): Promise<ApiResult<WakeupData, WakeupCode>> {
    const { api, device } = this.#stage;
    return api.wake(device.deviceId, { customData });
  }
}

/** The longest type that a wake has. */
const typeWidth = 'device.wakeup.completed'.length;

function dataOf<Data>(result: ApiResult<Data, FailureCode>): Data {
  if (!result.ok) throw new DemoFailure('code 0 and data', result);
  return result.data;
}

function timesOf({ last_login_at, last_heartbeat_at, last_offline_at }: ConnectionTimes): string {
  const cell = (time: number | null): string =>
    (time === null ? '-' : formatLocalTime(time * 1000).slice('2026-11-20 '.length, -'.000'.length)).padEnd(
      8,
    );
  return `login ${cell(last_login_at)}  heartbeat ${cell(last_heartbeat_at)}  offline ${cell(last_offline_at)}`.trimEnd();
}

function withData(customData: string | undefined): string {
  return customData === undefined ? '' : ` with custom_data ${customData}`;
}
