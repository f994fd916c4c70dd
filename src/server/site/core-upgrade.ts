/**
 * A planned restart of the core: a successor, of the release on disk, loads while the core serves; then the core hands over and ends.
 * Until the order to hand over, a failure changes nothing. Source: scale-out.md, Edges;
 * docs/adr/0032-an-upgrade-is-a-planned-restart-of-the-core.md.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { inTime } from '../../lib/clock.ts';
import { messageOf } from '../../lib/result.ts';
import { linkVersion as mediaLinkVersion } from '../../protocol/media-link/link-message.ts';
import { edgeLinkVersion } from '../../protocol/edge-link/edge-message.ts';
import { storeFormat } from '../../storage/lmdb/store-format.ts';
import { endOrKill } from '../children/child-fork.ts';
import type { SupervisedChild } from '../children/child.ts';
import type { CoreChildKind, CoreLife, CoreReport, CoreTask, SuccessorFacts } from './core-task.ts';
import { coreListenMsMax, handOverMsMax, successorLoadMsMax } from './site-limits.ts';
import type { SpareCore } from './spare-core.ts';

export interface CoreUpgradeDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly core: Pick<SupervisedChild<CoreChildKind>, 'life' | 'succeed'>;
  /** A spare core of the serving release. */
  readonly spare: Pick<SpareCore, 'renew'>;
  /** Absolute path. */
  readonly dataDirectory: string;
  /** Limit from the order `leave` until the core has closed its signal sessions. */
  readonly leaveMsMax: number;
  /** True: the successor listens before the core stops listening. */
  readonly sharesPorts: boolean;
  readonly task: CoreTask;
  /** Starts a core of the release on disk. Throws when the process could not be created. */
  launch(): CoreLife;
  /** Receives the reports of both cores. */
  reported(report: CoreReport): void;
}

type Answer = Exclude<CoreReport, { kind: 'upgrade' }>;

export class CoreUpgrade {
  readonly #deps: CoreUpgradeDeps;
  #awaited: Answer['kind'] | null = null;
  #answered: (answer: Answer) => void = () => undefined;
  /** A successor that has taken over nothing yet; null: none. */
  #successor: CoreLife | null = null;

  constructor(deps: CoreUpgradeDeps) {
    this.#deps = deps;
  }

  /** Resolves when the successor serves. Rejects with a sentence; then the old core still serves, or is restarted. */
  async run(): Promise<void> {
    const { log, core } = this.#deps;
    const before = core.life;
    if (before === null) throw new Error('the core is down: it restarts with the release on disk by itself');
    log.info({}, 'upgrade: started: loading the new release');
    const { successor, serving } = await this.#prepare(before);
    await this.#handOver(before, successor, serving);
  }

  /** A report of a core other than a request. */
  report(answer: Answer): void {
    if (answer.kind === this.#awaited) this.#answered(answer);
  }

  /** Ends an upgrade that has not reached the hand-over. */
  giveUp(): void {
    this.#successor?.kill('the server is being stopped');
  }

  async #prepare(before: CoreLife) {
    const { log, task, leaveMsMax, sharesPorts } = this.#deps;
    const successor = this.#deps.launch();
    this.#successor = successor;
    const serving = successor.begin(task, (report) => this.#deps.reported(report));
    try {
      const gone = Promise.race([serving, rejectAtDeath(before)]);
      gone.catch(() => undefined);
      const prepared = this.#answer('prepared', successorLoadMsMax, gone);
      this.#check((await prepared).facts);
      log.info({ pid: successor.pid, version: successor.release }, 'upgrade: new release loaded');
      before.order({ kind: 'leave' });
      await this.#answer('left', leaveMsMax, gone);
      if (sharesPorts) await this.#listen(successor, gone);
      return { successor, serving };
    } catch (error) {
      serving.catch(() => undefined);
      successor.kill();
      before.order({ kind: 'stay' });
      throw error;
    } finally {
      this.#successor = null;
    }
  }

  async #handOver(before: CoreLife, successor: CoreLife, serving: Promise<object>): Promise<void> {
    const { clock, log, core, spare, sharesPorts } = this.#deps;
    const heldMs = clock.monotonicMs();
    core.succeed(successor, serving);
    before.order({ kind: 'hand-over' });
    await endOrKill(before, {
      clock,
      msMax: handOverMsMax,
      ending: before.ended,
      overdue: () => log.warn({ pid: before.pid }, 'upgrade: previous core did not stop in time; killed'),
    });
    try {
      if (!sharesPorts) await this.#listen(successor, serving);
      successor.order({ kind: 'serve' });
      await serving;
    } catch (error) {
      successor.kill();
      throw new Error(`the new release does not serve; the core restarts: ${messageOf(error)}`, {
        cause: error,
      });
    }
    spare.renew();
    const held_ms = Math.round(clock.monotonicMs() - heldMs);
    log.info({ pid: successor.pid, version: successor.release, held_ms }, 'upgrade: new release serves');
  }

  async #listen(successor: CoreLife, gone: Promise<unknown>): Promise<void> {
    const listening = this.#answer('listening', coreListenMsMax, gone);
    successor.order({ kind: 'listen' });
    await listening;
  }

  /** Throws an error with a sentence for the operator. */
  #check({ storeFormat: format, dataDirectory, edgeLinks, mediaLinks }: SuccessorFacts): void {
    if (format !== storeFormat)
      throw new Error('the new release has another store format: stop the server, and start it');
    if (dataDirectory !== this.#deps.dataDirectory)
      throw new Error('data.dir has changed: stop the server, and start it');
    if (!edgeLinks.includes(edgeLinkVersion))
      throw new Error(
        'the new release does not support the edges of this one: stop the server, and start it',
      );
    if (!mediaLinks.includes(mediaLinkVersion))
      throw new Error(
        'the new release does not support the media processes of this one: stop the server, and start it',
      );
  }

  /** Rejects when `gone` does, or without such a report within `msMax`. */
  async #answer<Kind extends Answer['kind']>(
    kind: Kind,
    msMax: number,
    gone: Promise<unknown>,
  ): Promise<Extract<Answer, { kind: Kind }>> {
    const answered = new Promise<Answer>((resolve) => (this.#answered = resolve));
    this.#awaited = kind;
    const late = `no report "${kind}" within ${msMax} ms`;
    const answer = inTime(this.#deps.clock, msMax, Promise.race([answered, gone]), late);
    return (await answer.finally(() => (this.#awaited = null))) as Extract<Answer, { kind: Kind }>;
  }
}

async function rejectAtDeath(before: CoreLife): Promise<never> {
  throw new Error(`the core that serves has died: ${await before.ended}`);
}
