/**
 * The core as a front's pipeline sees it: the calls of one turn go to the core in one batch, and each is answered when its reply
 * returns. At most two batches are in flight; later calls wait, so that a busy core gets larger batches instead of more. If the
 * queue is full, applications that have used their share are refused first. Source: scale-out.md, API fronts.
 */
import type { Result } from '../../lib/result.ts';
import type { ApplicationId } from '../../model/ids.ts';
import {
  frontBatchBytesMax,
  frontBatchesMax,
  frontBatchRowsMax,
  frontCallBytesMax,
  frontCallsMax,
  frontCallsPerApplicationMax,
  frontRefusalsMax,
} from '../../model/http-limits.ts';
import type { AccountedRequest, AdmittedCall, CallDispatcher, Refused } from '../api/dispatcher.ts';
import { monotonicOriginMs } from '../../lib/system-clock.ts';
import { statusOf, unavailable, type Reply, type Route } from '../api/route.ts';
import type { CallRow, GoneRow, RefusedRow, ReplyRow, SendToCore } from './front-messages.ts';

interface WaitingCall {
  readonly row: CallRow;
  readonly appId: ApplicationId;
  readonly bytes: number;
}

export class FrontDispatcher implements CallDispatcher {
  readonly #routes: ReadonlyMap<Route, number>;
  readonly #send: SendToCore;
  readonly #originMs = monotonicOriginMs();
  readonly #open = new Map<number, (reply: Reply) => void>();
  #waiting: WaitingCall[] = [];
  #waitingBytes = 0;
  readonly #waitingOf = new Map<ApplicationId, number>();
  #gone: GoneRow[] = [];
  readonly #refusals: RefusedRow[] = [];
  /** Surplus refusals by metric labels: one row counts for all equal ones. */
  readonly #alike = new Map<string, RefusedRow>();
  #underWay = 0;
  #ids = 0;
  #isDue = false;
  #refusedCalls = 0;

  constructor(routes: readonly Route[], send: SendToCore) {
    this.#routes = new Map(routes.map((route, index) => [route, index]));
    this.#send = send;
  }

  get waitingCalls(): number {
    return this.#waiting.length;
  }

  get refusedCalls(): number {
    return this.#refusedCalls;
  }

  dispatch(route: Route, params: Result<unknown, string>, call: AdmittedCall): Reply | Promise<Reply> {
    const { appId } = call.credential;
    const ofApplication = this.#waitingOf.get(appId) ?? 0;
    if (this.#isFull(ofApplication, call.bodyBytes)) return this.#refuseFull(route, call);
    this.#ids += 1;
    const id = this.#ids;
    this.#waiting.push({ row: this.#rowOf(id, route, params, call), appId, bytes: call.bodyBytes });
    this.#waitingBytes += call.bodyBytes;
    this.#waitingOf.set(appId, ofApplication + 1);
    this.#schedule();
    call.onGone(() => this.#hangUp(id));
    return new Promise((resolve) => this.#open.set(id, resolve));
  }

  refused({ route, status, reply, authFailure }: Refused, request: AccountedRequest): void {
    const { requestId, startedMs, provenAppId, claimedAppId } = request;
    const index = route === null ? -1 : this.#indexOf(route);
    const row: RefusedRow = [
      2,
      index,
      status,
      reply.data === null ? reply : { ...reply, data: null },
      requestId.id,
      requestId.origin,
      startedMs + this.#originMs,
      provenAppId,
      claimedAppId,
      authFailure ?? null,
      1,
    ];
    if (this.#refusals.length < frontRefusalsMax) this.#refusals.push(row);
    else this.#countAlike(`${index} ${status} ${reply.code} ${authFailure}`, row);
    this.#schedule();
  }

  #countAlike(kind: string, row: RefusedRow): void {
    const first = this.#alike.get(kind);
    if (first === undefined) this.#alike.set(kind, row);
    else first[10] += 1;
  }

  /** Handles a message from the core. `taken`: the number of batches that are no longer in flight. */
  replied(taken: number, rows: readonly ReplyRow[]): void {
    this.#underWay -= taken;
    for (const [id, reply] of rows) {
      const resolve = this.#open.get(id);
      this.#open.delete(id);
      resolve?.(reply);
    }
    if (taken > 0) this.#flush();
  }

  #isFull(ofApplication: number, bytes: number): boolean {
    return (
      ofApplication >= frontCallsPerApplicationMax ||
      this.#waiting.length >= frontCallsMax ||
      this.#waitingBytes + bytes > frontCallBytesMax
    );
  }

  #refuseFull(route: Route, call: AdmittedCall): Reply {
    this.#refusedCalls += 1;
    const reply = unavailable(route, 'too many requests are waiting for the server');
    this.refused({ route, status: statusOf(route, reply.code), reply }, call);
    return reply;
  }

  #rowOf(id: number, route: Route, params: Result<unknown, string>, call: AdmittedCall): CallRow {
    const { credential, requestId, signature, signatureExpiresMs, startedMs } = call;
    return [
      0,
      id,
      this.#indexOf(route),
      credential.accessKeyId,
      requestId.id,
      requestId.origin,
      signature,
      signatureExpiresMs,
      startedMs + this.#originMs,
      route.recordsAddress === true ? call.remoteAddress() : null,
      params,
    ];
  }

  #indexOf(route: Route): number {
    return this.#routes.get(route) ?? -1;
  }

  #hangUp(id: number): void {
    if (!this.#open.delete(id)) return;
    this.#gone.push([1, id]);
    this.#schedule();
  }

  /** A microtask would be too early: microtasks run after each request, not after the turn. */
  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(this.#endOfTurn);
  }

  readonly #endOfTurn = (): void => {
    this.#isDue = false;
    this.#flush();
  };

  #flush(): void {
    while (this.#underWay < frontBatchesMax && this.#hasRows) {
      this.#underWay += 1;
      this.#send({ kind: 'orders', rows: this.#nextRows() });
    }
  }

  get #hasRows(): boolean {
    return this.#waiting.length + this.#gone.length + this.#refusals.length + this.#alike.size > 0;
  }

  /** Calls come first, so that a hang-up follows its call. */
  #nextRows(): readonly (CallRow | GoneRow | RefusedRow)[] {
    const rows: (CallRow | GoneRow | RefusedRow)[] = [];
    let bytes = 0;
    for (const { row, appId, bytes: ownBytes } of this.#waiting) {
      if (rows.length >= frontBatchRowsMax || (rows.length > 0 && bytes + ownBytes > frontBatchBytesMax))
        break;
      rows.push(row);
      bytes += ownBytes;
      this.#leave(appId);
    }
    this.#waiting = this.#waiting.slice(rows.length);
    this.#waitingBytes -= bytes;
    if (this.#gone.length > 0) rows.push(...this.#nextGone());
    if (this.#waiting.length > 0) return rows;
    rows.push(...this.#refusals.splice(0, frontBatchRowsMax), ...this.#alike.values());
    this.#alike.clear();
    return rows;
  }

  /** Hang-ups of callers whose call was sent to the core, or is sent now. */
  #nextGone(): readonly GoneRow[] {
    const idEnd = this.#waiting[0]?.row[1] ?? Infinity;
    const next = this.#gone.filter(([, id]) => id < idEnd);
    this.#gone = this.#gone.filter(([, id]) => id >= idEnd);
    return next;
  }

  #leave(appId: ApplicationId): void {
    const left = (this.#waitingOf.get(appId) ?? 1) - 1;
    if (left > 0) this.#waitingOf.set(appId, left);
    else this.#waitingOf.delete(appId);
  }
}
