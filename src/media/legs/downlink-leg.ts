/**
 * A leg that only receives: a device without WebSocket, or a viewer. It is an HTTP response that lasts until the call ends; intermediate
 * call states are not sent to it. Source: calls-and-media.md, Legs.
 */
import type { Cancel } from '../../lib/clock.ts';
import type { Result } from '../../lib/result.ts';
import { legLingerMsMax } from '../../model/limits.ts';
import type { ReservationRefusal } from '../../model/media/picture.ts';
import type { OpenViewer, CallLeg } from '../../core/ports/leg-service.ts';
import type { JoinedLeg, PictureOutput } from '../relay/send-queue.ts';
import type { LegConnection, LegOwner, MediaListenerContext } from './listener-context.ts';
import type { PictureParts } from './picture-parts.ts';
import type { UpgradeRequest } from './upgrade-request.ts';

export interface DownlinkDeps {
  readonly owner: LegOwner;
  readonly open: (leg: CallLeg) => OpenViewer | null;
  readonly join: (out: DownlinkLeg) => Result<JoinedLeg, ReservationRefusal>;
}

export class DownlinkLeg implements CallLeg, PictureOutput, LegConnection {
  readonly takes = 'pictures';
  readonly #request: UpgradeRequest;
  readonly #parts: PictureParts;
  readonly #context: MediaListenerContext;
  #owner: LegOwner = '';
  #opened: OpenViewer | null = null;
  #joined: JoinedLeg | null = null;
  #isClosed = false;
  /** Pictures sent, and those of them that the operating system has accepted. */
  #started = 0;
  #accepted = 0;
  /** The picture in flight at the last heartbeat; 0: none. */
  #awaited = 0;
  #stopLingering: Cancel = () => undefined;

  constructor(request: UpgradeRequest, parts: PictureParts, context: MediaListenerContext) {
    this.#request = request;
    this.#parts = parts;
    this.#context = context;
  }

  /** Null: the leg is open. Otherwise nothing was answered; `late`: the leg service no longer accepts it, or has too many. */
  enter({ owner, open, join }: DownlinkDeps): 'late' | ReservationRefusal | null {
    this.#owner = owner;
    this.#opened = open(this);
    if (this.#opened === null || this.#isClosed) return 'late';
    const joined = join(this);
    if (!joined.ok) {
      this.#isClosed = true;
      this.#opened.disconnected();
      return joined.error;
    }
    this.#joined = joined.value;
    this.#context.legs.add(owner, this);
    this.#begin();
    return null;
  }

  notify(): void {}

  sendPicture(jpeg: Uint8Array, sent: () => void): void {
    this.#begin();
    this.#started += 1;
    this.#request.write(this.#parts.part(jpeg), () => {
      this.#accepted += 1;
      sent();
    });
  }

  /** The leg sends nothing. A leg that reads is alive; while there is nothing to read, TCP keep-alive probes it. */
  heartbeat(): void {
    const inFlight = this.#started > this.#accepted ? this.#started : 0;
    if (inFlight > 0 && inFlight === this.#awaited) this.#request.cut();
    this.#awaited = inFlight;
  }

  /** Cuts a peer that does not read the rest in time. */
  close(): void {
    if (!this.#leave() || this.#opened === null) return;
    this.#context.leaving.add(this);
    this.#stopLingering = this.#context.clock.after(legLingerMsMax, () => this.#request.cut());
    this.#request.end(this.#parts.end);
  }

  drop(): void {
    if (this.#leave()) this.#request.cut();
  }

  #begin(): void {
    this.#request.stream(this.#parts, () => this.#onClosed());
  }

  #onClosed(): void {
    this.#context.leaving.delete(this);
    this.#stopLingering();
    if (this.#leave()) this.#opened?.disconnected();
  }

  /** False: it has already left. */
  #leave(): boolean {
    if (this.#isClosed) return false;
    this.#isClosed = true;
    this.#joined?.leave();
    this.#context.legs.delete(this.#owner, this);
    return true;
  }
}
