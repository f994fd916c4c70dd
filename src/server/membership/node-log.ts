/** The event log of a node: own events are published to the shared stream, and all events of the stream are written to its store. */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { answeredWithin } from '../../cluster/nats/answered-within.ts';
import type { NodeTransport } from '../../cluster/nats/node-transport.ts';
import { EventMirror } from '../../cluster/events/event-mirror.ts';
import { EventStream } from '../../cluster/events/event-stream.ts';
import { callEndsLookedAtMax, callEndsSlice, streamLastMsMax } from '../../cluster/events/log-limits.ts';
import { nextTurn } from '../../lib/clock.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { OutboxEvent } from '../../core/ports/outbox.ts';
import { SharedStateUnavailable } from '../../core/ports/session-locator.ts';
import type { MirroredLogStore } from '../../storage/events/mirrored-log.ts';

interface NodeLogDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly link: Pick<NodeTransport, 'deviceEvents' | 'eventTail'>;
  readonly events: EventLog;
  readonly mirror: MirroredLogStore;
  /** Maximum number of devices at this node. */
  readonly devicesMax: number;
  /** Called for every event received from the stream, including this node's own. */
  readonly saw: (event: LoggedEvent) => void;
}

export class NodeLog {
  readonly #stream: EventStream;
  readonly #mirror: EventMirror;
  readonly #deps: NodeLogDeps;

  constructor(deps: NodeLogDeps) {
    const { link, clock, log, events, mirror, devicesMax, saw } = deps;
    this.#deps = deps;
    const stream = {
      clock,
      events: link.deviceEvents,
      seqOf: (deviceId: DeviceId) => mirror.seqOf(deviceId),
      recentOf: (deviceId: DeviceId) => events.recentOf(deviceId),
    };
    this.#stream = new EventStream(stream, devicesMax);
    this.#mirror = new EventMirror({
      source: link.eventTail,
      mirror,
      clock,
      log,
      saw: (event) => {
        this.#stream.saw(event);
        saw(event);
      },
    });
  }

  /** Events in the stream that were not received here yet. */
  get lag(): number {
    return this.#mirror.lag;
  }

  /** True: the stream has reached `sequence`, or NATS does not answer. Never rejects. */
  async reaches(sequence: number): Promise<boolean> {
    try {
      return (
        sequence <=
        (await answeredWithin(this.#deps.clock, streamLastMsMax, this.#deps.link.eventTail.last()))
      );
    } catch {
      return true;
    }
  }

  /** True: the recent log has the end of the call. Rejects while the local log is behind the stream. */
  async hasEnded(deviceId: DeviceId, sessionId: SessionId): Promise<boolean> {
    const isItsEnd = ({ type, data }: LoggedEvent): boolean =>
      type === 'call.ended' && data.session === sessionId;
    await this.#caughtUp();
    if (this.#deps.events.recentOf(deviceId).some(isItsEnd)) return true;
    const oldest = Math.max(0, this.#deps.events.head - callEndsLookedAtMax);
    for (let last = this.#deps.events.head; last > oldest; last -= callEndsSlice) {
      if (this.#deps.events.read(Math.max(0, last - callEndsSlice), callEndsSlice).some(isItsEnd))
        return true;
      await nextTurn();
    }
    return false;
  }

  /** Resolves when the event is in the stream, exactly once; rejects while NATS is unreachable. */
  publish(event: OutboxEvent): Promise<void> {
    return this.#stream.publish(event);
  }

  start(): void {
    this.#mirror.start();
  }

  stop(): Promise<void> {
    return this.#mirror.stop();
  }

  async #caughtUp(): Promise<void> {
    const last = await answeredWithin(this.#deps.clock, streamLastMsMax, this.#deps.link.eventTail.last());
    if (this.#mirror.position < last) throw new SharedStateUnavailable('the log of this node is behind');
  }
}
