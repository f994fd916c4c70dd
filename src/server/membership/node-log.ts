/** The log of events as a node has it: its own go into the stream that all share, and all come back into its store. */
import type { Clock } from '../../lib/clock.ts';
import { answeredWithin } from '../../cluster/nats/answered-within.ts';
import { StreamedDeviceEvents } from '../../cluster/events/device-events.ts';
import { EventMirror } from '../../cluster/events/event-mirror.ts';
import { EventStream } from '../../cluster/events/event-stream.ts';
import { JetStreamSource } from '../../cluster/events/jetstream-source.ts';
import type { NatsLink } from '../../cluster/nats/nats-link.ts';
import { streamLastMsMax } from '../../cluster/events/log-limits.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { Log } from '../../core/ports/log.ts';
import type { OutboxEvent } from '../../core/ports/outbox.ts';
import type { MirroredLogStore } from '../../storage/events/mirrored-log.ts';

export interface NodeLogDeps {
  readonly link: NatsLink;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventLog;
  readonly mirror: MirroredLogStore;
  /** Told of every event that has come back, this node's own among them. */
  readonly saw: (event: LoggedEvent) => void;
}

export class NodeLog {
  readonly #stream: EventStream;
  readonly #mirror: EventMirror;
  readonly #source: JetStreamSource;
  readonly #clock: Clock;

  constructor({ link, clock, log, events, mirror, saw }: NodeLogDeps) {
    this.#clock = clock;
    this.#source = new JetStreamSource(link, link.names.eventStream);
    this.#stream = new EventStream({
      clock,
      events: new StreamedDeviceEvents(link),
      seqOf: (deviceId) => mirror.seqOf(deviceId),
      recentOf: (deviceId) => events.recentOf(deviceId),
    });
    this.#mirror = new EventMirror({
      source: this.#source,
      mirror,
      clock,
      log,
      saw: (event) => {
        this.#stream.saw(event);
        saw(event);
      },
    });
  }

  /** Events that are in the stream and not here yet. */
  get lag(): number {
    return this.#mirror.lag;
  }

  /** Whether the stream has come so far. True while NATS cannot tell. Never rejects. */
  async reaches(sequence: number): Promise<boolean> {
    try {
      return sequence <= (await answeredWithin(this.#clock, streamLastMsMax, this.#source.last()));
    } catch {
      return true;
    }
  }

  /** Resolves when it is in the stream, once; rejects while NATS is away. */
  publish(event: OutboxEvent): Promise<void> {
    return this.#stream.publish(event);
  }

  start(): void {
    this.#mirror.start();
  }

  stop(): Promise<void> {
    return this.#mirror.stop();
  }
}
