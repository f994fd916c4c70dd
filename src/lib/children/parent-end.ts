/**
 * The child's end of the stream to its supervisor. It loads no package, because edge processes use it. Source: scale-out.md,
 * Edges; running.md, Stopping.
 */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../clock.ts';
import { Link } from '../link/link.ts';
import type { LoopProgress } from '../loop-progress.ts';
import {
  childBounds,
  childDescriptor,
  childLanguage,
  childVersion,
  type ChildKind,
  type FromChild,
  type ToChild,
} from './child-messages.ts';

export interface ParentEndDeps<Kind extends ChildKind> {
  readonly clock: Clock;
  readonly release: string;
  readonly progress: LoopProgress;
  ordered(order: Kind['order']): void;
  /** The supervisor orders the process to stop; this may precede the task. */
  stop(): void;
  /** Called once: the stream has ended, and no further order arrives. `fault`: a sentence; null: the supervisor has exited. */
  orphaned(fault: string | null): void;
}

const signalsOfSupervisor = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const;

/**
 * Sends the hello: call it once, as soon as this process can follow orders. From then on the process ignores the signals that a
 * service manager or a terminal sends to every process of a service: the supervisor decides the order of a stop.
 */
export function followParent<Kind extends ChildKind>(deps: ParentEndDeps<Kind>): ParentEnd<Kind> {
  for (const signal of signalsOfSupervisor) process.on(signal, () => undefined);
  return new ParentEnd(new Socket({ fd: childDescriptor }), deps);
}

export class ParentEnd<Kind extends ChildKind> {
  /** Resolves when the child receives its task. */
  readonly begun: Promise<Kind['task']>;
  readonly #deps: ParentEndDeps<Kind>;
  readonly #link: Link<FromChild<Kind>, ToChild<Kind>>;
  #begin: (task: Kind['task']) => void = () => undefined;

  constructor(stream: Duplex, deps: ParentEndDeps<Kind>) {
    const { clock, progress, release } = deps;
    this.#deps = deps;
    this.begun = new Promise((resolve) => (this.#begin = resolve));
    this.#link = new Link(stream, {
      clock,
      peer: 'the supervisor',
      bounds: childBounds,
      language: childLanguage<ToChild<Kind>>(),
      isPatient: true,
      progress,
      received: (message) => this.#received(message),
      heartbeat: () => undefined,
      ended: (fault) => deps.orphaned(fault),
    });
    this.#link.send({ kind: 'hello', version: childVersion, release });
  }

  ready(facts: Kind['ready']): void {
    this.#link.send({ kind: 'ready', facts });
  }

  report(report: Kind['report']): void {
    this.#link.send({ kind: 'report', report });
  }

  /** Reports that this process cannot serve, and ends the stream. Resolves when it has ended. `reason`: a sentence. */
  failed(reason: string): Promise<void> {
    this.#link.send({ kind: 'failed', reason: reason.slice(0, reasonCharactersMax) });
    return this.#link.end();
  }

  #received(message: ToChild<Kind>): null {
    switch (message.kind) {
      case 'hello':
      case 'heartbeat':
        break;
      case 'begin':
        this.#begin(message.task);
        break;
      case 'order':
        this.#deps.ordered(message.order);
        break;
      case 'stop':
        this.#deps.stop();
    }
    return null;
  }
}

const reasonCharactersMax = 4096;
