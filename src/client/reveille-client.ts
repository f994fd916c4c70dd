/**
 * The signed API for backends: a method for each endpoint, typed in and out. It signs, keeps connections, corrects a
 * clock that is off and sends again what may be (client-options.ts). The package exports it as `reveille/client`.
 * Source: API doc, Endpoints; events.md, Reading.
 */
import type { Clock } from '../lib/clock.ts';
import { SystemClock } from '../lib/system-clock.ts';
import type {
  CallCredentialsCode,
  CallEndCode,
  CallStatusCode,
  ConnectivityBatchCode,
  ConnectivityCode,
  EventsCode,
  FailureCode,
  MessageCode,
  WakeupCode,
  WakeupOutcomeCode,
} from '../model/codes.ts';
import { generateRequestId, parseRequestId } from '../model/ids.ts';
import { longPollSecondsMax, wakingSecondsDefault } from '../model/limits.ts';
import type {
  CallCredentialsData,
  CallEndData,
  CallStatusData,
  ConnectivityBatchData,
  ConnectivityData,
  EventsData,
  MessageData,
  WakeupData,
  WakeupOutcomeData,
  ApiResult,
  CallCredentialsBody,
  CallToEnd,
} from './answers.ts';
import {
  type CallOptions,
  type EndCallOptions,
  type EventsOptions,
  type FollowOptions,
  type MessageOptions,
  type OutcomeOptions,
  type ReveilleClientOptions,
  type WaitOptions,
  type WakeOptions,
  retrySettings,
} from './client-options.ts';
import { askInBatches } from './batches.ts';
import { followEvents, type FollowedEvent } from './followed-events.ts';
import { HttpTransport, parseOrigin } from './http-transport.ts';
import { OpenCalls } from './open-calls.ts';
import { RegistryMethods, type Asked } from './registry-methods.ts';
import { queryOf, rawAnswerOf, type RawAnswer, type RawRequest, RequestSender } from './request-sender.ts';

export type * from './answers.ts';
export { ReveilleProtocolError, ReveilleRefusedError, ReveilleUnreachableError } from './client-errors.ts';
export type * from './client-options.ts';
export type { FollowedEvent } from './followed-events.ts';
export type { RawAnswer, RawRequest } from './request-sender.ts';
export { verifyWebhook } from './verify-webhook.ts';
export type { WebhookHeaders, WebhookOptions, WebhookTest } from './verify-webhook.ts';
export type { SigningCredential } from '../protocol/tgv1/sign-request.ts';

const usualTimeoutMs = 10_000;
const usualSocketsMax = 50;

/**
 * Every method resolves with what the server answers, refusals too. It rejects with a ReveilleUnreachableError when
 * nobody answered, a ReveilleProtocolError when it was not the API that did, and the reason of an aborted signal.
 */
export class ReveilleClient extends RegistryMethods {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #timeoutMs: number;
  readonly #sender: RequestSender;
  readonly #calls = new OpenCalls();
  readonly #closeTransport: () => void;

  /** Throws a TypeError when the origin is none. */
  constructor(options: ReveilleClientOptions) {
    super((asked, callOptions) => this.#call(asked, callOptions));
    const { credential, timeoutMs = usualTimeoutMs, socketsMax = usualSocketsMax } = options;
    const { clock = new SystemClock(), random = Math.random } = options;
    const origin = parseOrigin(options.origin);
    if (origin === null)
      throw new TypeError('an origin is scheme, host and port, like https://reveille.example');
    const transport = options.transport ?? new HttpTransport(origin, socketsMax, clock, options.tls);
    this.#clock = clock;
    this.#random = random;
    this.#timeoutMs = timeoutMs;
    this.#closeTransport = () => transport.close();
    const retry = retrySettings(options.retry);
    this.#sender = new RequestSender({ origin, credential, clock, random, retry, transport });
  }

  /** What was last seen of a device's two connections. */
  async connectivity(
    deviceId: string,
    options: CallOptions = {},
  ): Promise<ApiResult<ConnectivityData, ConnectivityCode>> {
    const rawQuery = queryOf({ device_id: deviceId });
    return this.#call({ kind: 'query', path: '/v1/device/connectivity', rawQuery }, options);
  }

  /**
   * The same of many devices, each with its own code, in the order asked. More than a request takes are asked for in
   * several, one after the other: the first that is refused is the result.
   */
  async connectivityOf(
    deviceIds: readonly string[],
    options: CallOptions = {},
  ): Promise<ApiResult<ConnectivityBatchData, ConnectivityBatchCode>> {
    return askInBatches(deviceIds, (device_ids) =>
      this.#call({ kind: 'query', path: '/v1/devices/connectivity', body: { device_ids } }, options),
    );
  }

  /** Sends a sleeping device its packet. Rejects with a RangeError when the request id is none. */
  async wake(deviceId: string, options: WakeOptions = {}): Promise<ApiResult<WakeupData, WakeupCode>> {
    const requestId = parseRequestId(options.requestId?.trim() ?? generateRequestId());
    if (requestId === null) throw new RangeError('a request id is 1-128 printable ASCII characters');
    const body = { device_id: deviceId, custom_data: options.customData };
    return this.#call({ kind: 'wakeup', path: wakeupPath, body, requestId }, options);
  }

  /** What became of the latest wakeup of that request id; with `waitS`, as soon as it is known. */
  async wakeupOutcome(
    requestId: string,
    options: OutcomeOptions = {},
  ): Promise<ApiResult<WakeupOutcomeData, WakeupOutcomeCode>> {
    const rawQuery = queryOf({ request_id: requestId, device_id: options.deviceId, wait: options.waitS });
    return this.#call({ kind: 'query', path: wakeupPath, rawQuery, waitMs: waitMsOf(options) }, options);
  }

  /**
   * Resolves when the device has acknowledged it, or did not; with `wake`, after it was woken for it if it slept. Its payload is
   * at most 8 KiB of JSON.
   */
  async sendMessage(
    deviceId: string,
    name: string,
    payload: object,
    options: MessageOptions = {},
  ): Promise<ApiResult<MessageData, MessageCode>> {
    const { wake, waitS } = options;
    const body = { device_id: deviceId, name, payload, wake, wait: waitS };
    const waitMs = wake === true ? waitMsOf({ waitS: waitS ?? wakingSecondsDefault }) : 0;
    return this.#call({ kind: 'message', path: '/v1/device/message', body, waitMs }, options);
  }

  /** A page of the log; with `waitS`, as soon as there is something in it. */
  async events(options: EventsOptions = {}): Promise<ApiResult<EventsData, EventsCode>> {
    const { after, limit, waitS } = options;
    const rawQuery = queryOf({ after, limit, wait: waitS });
    return this.#call({ kind: 'query', path: '/v1/events', rawQuery, waitMs: waitMsOf(options) }, options);
  }

  /**
   * The log as it grows: waits for new events, and for a server that cannot be reached. Ends when its signal is aborted
   * or the client is closed. Throws a ReveilleRefusedError when the server refuses and would again.
   */
  async *followEvents(options: FollowOptions = {}): AsyncGenerator<FollowedEvent, void, undefined> {
    const { after, limit, waitS = longPollSecondsMax, onTrouble = () => undefined } = options;
    const call = this.#calls.open(options.signal);
    const { signal } = call;
    const log = {
      clock: this.#clock,
      random: this.#random,
      read: (place: EventsOptions) => this.events({ ...place, signal }),
      onTrouble,
    };
    try {
      yield* followEvents(log, { after, limit, waitS }, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      call.end();
    }
  }

  /** Whether a device is in a call, or about to be; no reservation. */
  async callStatus(
    deviceId: string,
    options: CallOptions = {},
  ): Promise<ApiResult<CallStatusData, CallStatusCode>> {
    const rawQuery = queryOf({ device_id: deviceId });
    return this.#call({ kind: 'query', path: '/v1/device/msgvoip-call-status', rawQuery }, options);
  }

  /** What a device needs to join a call; asked again for the same room, it is for the same session. */
  async issueCallCredentials(
    body: CallCredentialsBody,
    options: CallOptions = {},
  ): Promise<ApiResult<CallCredentialsData, CallCredentialsCode>> {
    return this.#call({ kind: 'call-credentials', path: '/v1/token/msgvoip', body }, options);
  }

  /** Ends a call for both sides. One that has ended already resolves with the reason that it ended for. */
  async endCall(
    deviceId: string,
    call: CallToEnd,
    { reason, ...options }: EndCallOptions = {},
  ): Promise<ApiResult<CallEndData, CallEndCode>> {
    const body = { device_id: deviceId, ...call, reason };
    return this.#call({ kind: 'call-end', path: '/v1/device/msgvoip-call/end', body }, options);
  }

  /** Signs and sends any request once, and answers whatever comes back. */
  async request(request: RawRequest, options: CallOptions = {}): Promise<RawAnswer> {
    return this.#during(options.signal, async (signal) =>
      rawAnswerOf(await this.#sender.sendOnce(request, options.timeoutMs ?? this.#timeoutMs, signal)),
    );
  }

  /** Ends every call that is under way, and closes the connections. Calls from now on are rejected. */
  close(): void {
    this.#calls.close();
    this.#closeTransport();
  }

  #call<Data, Code extends FailureCode>(
    { rawQuery = '', body = null, requestId = null, waitMs = 0, ...asked }: Asked,
    { signal, timeoutMs = this.#timeoutMs }: CallOptions,
  ): Promise<ApiResult<Data, Code>> {
    const request = { ...asked, rawQuery, body, requestId, waitMs, timeoutMs };
    const answer = this.#during(signal, (during) => this.#sender.send(request, during));
    return answer as Promise<ApiResult<Data, Code>>;
  }

  async #during<Answer>(
    callers: AbortSignal | undefined,
    ask: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    const call = this.#calls.open(callers);
    try {
      call.signal.throwIfAborted();
      return await ask(call.signal);
    } finally {
      call.end();
    }
  }
}

/** Of a wakeup, and of the question what became of it. */
const wakeupPath = '/v1/device/wakeup-request';

function waitMsOf({ waitS = 0 }: WaitOptions): number {
  return waitS * 1000;
}
