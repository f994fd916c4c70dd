/**
 * Client of the signed API for backends: one typed method per endpoint. It signs requests, keeps connections, corrects clock
 * skew and retries by the policy in client-options.ts. The package exports it as `reveille/client`.
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
import { HttpTransport } from './http-transport.ts';
import { parseOrigin } from './origin.ts';
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
 * Every method resolves with the server's response, also a refusal. It rejects with a ReveilleUnreachableError without a
 * response, with a ReveilleProtocolError if the response is not one of the API, and with the reason of an aborted signal.
 */
export class ReveilleClient extends RegistryMethods {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #timeoutMs: number;
  readonly #sender: RequestSender;
  readonly #calls = new OpenCalls();
  readonly #closeTransport: () => void;

  /** Throws a TypeError on an invalid origin. */
  constructor(options: ReveilleClientOptions) {
    super((asked, callOptions) => this.#call(asked, callOptions));
    const { credential, timeoutMs = usualTimeoutMs, socketsMax = usualSocketsMax } = options;
    const { clock = new SystemClock(), random = Math.random } = options;
    const origin = parseOrigin(options.origin);
    if (origin === null)
      throw new TypeError('invalid origin: expected scheme, host and port, like https://reveille.example');
    const transport = options.transport ?? new HttpTransport(origin, socketsMax, clock, options.tls);
    this.#clock = clock;
    this.#random = random;
    this.#timeoutMs = timeoutMs;
    this.#closeTransport = () => transport.close();
    const retry = retrySettings(options.retry);
    this.#sender = new RequestSender({ origin, credential, clock, random, retry, transport });
  }

  /** Queries the state of a device's signal and sleep connections. */
  async connectivity(
    deviceId: string,
    options: CallOptions = {},
  ): Promise<ApiResult<ConnectivityData, ConnectivityCode>> {
    const rawQuery = queryOf({ device_id: deviceId });
    return this.#call({ kind: 'query', path: '/v1/device/connectivity', rawQuery }, options);
  }

  /**
   * Queries many devices, each with its own code, in the given order. A list above the limit of one request is split into
   * several, sent one after another; the first refusal is the result.
   */
  async connectivityOf(
    deviceIds: readonly string[],
    options: CallOptions = {},
  ): Promise<ApiResult<ConnectivityBatchData, ConnectivityBatchCode>> {
    return askInBatches(deviceIds, (device_ids) =>
      this.#call({ kind: 'query', path: '/v1/devices/connectivity', body: { device_ids } }, options),
    );
  }

  /** Wakes a sleeping device. Rejects with a RangeError on an invalid request id. */
  async wake(deviceId: string, options: WakeOptions = {}): Promise<ApiResult<WakeupData, WakeupCode>> {
    const requestId = parseRequestId(options.requestId?.trim() ?? generateRequestId());
    if (requestId === null)
      throw new RangeError('invalid request id: expected 1-128 printable ASCII characters');
    const body = { device_id: deviceId, custom_data: options.customData };
    return this.#call({ kind: 'wakeup', path: wakeupPath, body, requestId }, options);
  }

  /** Queries the outcome of the latest wakeup with this request id; with `waitS`, waits for it. */
  async wakeupOutcome(
    requestId: string,
    options: OutcomeOptions = {},
  ): Promise<ApiResult<WakeupOutcomeData, WakeupOutcomeCode>> {
    const rawQuery = queryOf({ request_id: requestId, device_id: options.deviceId, wait: options.waitS });
    return this.#call({ kind: 'query', path: wakeupPath, rawQuery, waitMs: waitMsOf(options) }, options);
  }

  /**
   * Sends a message and resolves with its acknowledgement or a failure; with `wake`, wakes a sleeping device first. The
   * payload is at most 8 KiB of JSON.
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

  /** Reads a page of the event log; with `waitS`, waits for the first event. */
  async events(options: EventsOptions = {}): Promise<ApiResult<EventsData, EventsCode>> {
    const { after, limit, waitS } = options;
    const rawQuery = queryOf({ after, limit, wait: waitS });
    return this.#call({ kind: 'query', path: '/v1/events', rawQuery, waitMs: waitMsOf(options) }, options);
  }

  /**
   * Follows the event log: waits for new events, and retries while the server is unreachable. Ends when the signal is aborted
   * or the client is closed. Throws a ReveilleRefusedError on a refusal that a retry cannot change.
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

  /** Queries whether a device is in a call or about to be; reserves nothing. */
  async callStatus(
    deviceId: string,
    options: CallOptions = {},
  ): Promise<ApiResult<CallStatusData, CallStatusCode>> {
    const rawQuery = queryOf({ device_id: deviceId });
    return this.#call({ kind: 'query', path: '/v1/device/msgvoip-call-status', rawQuery }, options);
  }

  /** Issues the credentials with which a device joins a call; the same room gives the same session. */
  async issueCallCredentials(
    body: CallCredentialsBody,
    options: CallOptions = {},
  ): Promise<ApiResult<CallCredentialsData, CallCredentialsCode>> {
    return this.#call({ kind: 'call-credentials', path: '/v1/token/msgvoip', body }, options);
  }

  /** Ends a call for both sides. If it had ended before, resolves with the reason of that end. */
  async endCall(
    deviceId: string,
    call: CallToEnd,
    { reason, ...options }: EndCallOptions = {},
  ): Promise<ApiResult<CallEndData, CallEndCode>> {
    const body = { device_id: deviceId, ...call, reason };
    return this.#call({ kind: 'call-end', path: '/v1/device/msgvoip-call/end', body }, options);
  }

  /** Signs and sends a request of any path once, without retries. */
  async request(request: RawRequest, options: CallOptions = {}): Promise<RawAnswer> {
    return this.#during(options.signal, async (signal) =>
      rawAnswerOf(await this.#sender.sendOnce(request, options.timeoutMs ?? this.#timeoutMs, signal)),
    );
  }

  /** Aborts pending calls and closes the connections. Later calls are rejected. */
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

const wakeupPath = '/v1/device/wakeup-request';

function waitMsOf({ waitS = 0 }: WaitOptions): number {
  return waitS * 1000;
}
