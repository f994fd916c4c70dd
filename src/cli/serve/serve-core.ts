/**
 * The core of a site with edges: a server whose sleep connections are held by other processes. Its supervisor starts it, and stops
 * it; without the supervisor it ends. Source: scale-out.md, Edges.
 */
import { followParent } from '../../lib/children/parent-end.ts';
import { LoopProgress } from '../../lib/loop-progress.ts';
import { readVersion } from '../../lib/package-version.ts';
import { messageOf } from '../../lib/result.ts';
import { processStopMsMax } from '../../model/limits.ts';
import { openLog, type Logging } from '../../server/bootstrap/logging.ts';
import type { RunningServer, StartServer } from '../../server/bootstrap/server.ts';
import { withListeners } from '../../server/config/derived-settings.ts';
import type { CoreChildKind, CoreOrder, CoreTask, SiteChild } from '../../server/site/core-task.ts';
import { noUpgrade } from '../../server/upgrade/upgrade-routes.ts';
import type { FirstSecrets } from '../init/first-entries.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { firstStartNotice, seedFirstStart } from './first-start.ts';
import { announceConsole, consoleUrl, dieOfTheUnexpected } from './serving-end.ts';

/** `isDemoAsked`: an empty store gets entries to try. Resolves when it serves; the process ends by itself. */
export async function serveCore(context: CommandContext, isDemoAsked: boolean): Promise<void> {
  const logging = openLog(context.settings.log, undefined, {});
  dieOfTheUnexpected(logging);
  const { startServer } = await import('../../server/bootstrap/server.ts');
  const core = new Core(context, logging, startServer);
  const { clock } = context;
  const parent = followParent<CoreChildKind>({
    clock,
    release: readVersion(),
    progress: core.progress,
    ordered: (order) => core.follow(order),
    stop: () => core.end(false),
    alone: () => core.abandoned(),
  });
  const task = await parent.begun;
  try {
    await core.start(task, isDemoAsked);
    parent.ready({});
  } catch (error) {
    core.refused(error);
    await parent.failed(messageOf(error));
    process.exit(1);
  }
}

class Core {
  readonly progress: LoopProgress;
  readonly #context: CommandContext;
  readonly #logging: Logging;
  readonly #startServer: StartServer;
  #starting: Promise<RunningServer | null> = Promise.resolve(null);
  #children: readonly SiteChild[] = [];
  #isEnding = false;

  constructor(context: CommandContext, logging: Logging, startServer: StartServer) {
    this.#context = context;
    this.#logging = logging;
    this.#startServer = startServer;
    this.progress = new LoopProgress(context.clock);
  }

  /** Resolves when it serves, and, of the first core, when every edge accepts. */
  async start(task: CoreTask, isDemoAsked: boolean): Promise<void> {
    const secrets = task.isFirst ? await seedFirstStart(this.#context, isDemoAsked, this.#logging.log) : null;
    this.#starting = this.#serve(task);
    const server = await this.#starting;
    if (task.isFirst && server !== null) this.#announce(server.listeners, secrets);
  }

  follow(order: CoreOrder): void {
    switch (order.kind) {
      case 'children':
        this.#children = order.children;
        return;
      case 'reload':
        return void this.#starting.then((server) => server?.reload());
      case 'upgrade':
        return void this.#starting.then((server) => server?.signalUpgrade());
    }
  }

  /** `isHurried`: without a drain. */
  end(isHurried: boolean): void {
    if (isHurried) setTimeout(() => process.exit(1), processStopMsMax).unref();
    if (this.#isEnding) return;
    this.#isEnding = true;
    void this.#stop(isHurried).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  }

  abandoned(): void {
    if (!this.#isEnding) this.#logging.log.error({}, 'the supervisor is gone; this process stops');
    this.end(true);
  }

  /** The stack of a programming error is in the log; the supervisor is sent the sentence. */
  refused(error: unknown): void {
    this.#isEnding = true;
    this.#logging.log.error({ err: error }, 'the core cannot start');
    this.#logging.flushNow();
  }

  async #stop(isHurried: boolean): Promise<void> {
    const server = await this.#starting;
    await server?.stop(isHurried);
    await this.#logging.close();
  }

  #serve({ listeners, edgeSocket, mediaSockets, isFirst }: CoreTask): Promise<RunningServer> {
    const { settings, configured, clock } = this.#context;
    const { log, announce } = this.#logging;
    return this.#startServer(withListeners(settings, listeners), {
      configured,
      clock,
      log,
      announce,
      upgrade: noUpgrade(
        'a server with edges is not upgraded in place: stop it, which ends its sessions in order, and start it',
      ),
      core: { edgeSocket, mediaSockets, isFirst, progress: this.progress, children: () => this.#children },
    });
  }

  #announce(listeners: RunningServer['listeners'], secrets: FirstSecrets | null): void {
    const { settings, dataDirectory } = this.#context;
    this.#logging.announce({ listeners, edges: settings.sleep.edges }, 'ready');
    announceConsole(this.#logging, listeners, settings);
    if (secrets !== null)
      process.stderr.write(firstStartNotice(secrets, dataDirectory, consoleUrl(listeners)));
  }
}
