/** The console of the ops listener: its page, login sessions and figures. */
import { z } from 'zod';
import type { Cancel } from '../../lib/clock.ts';
import { loadConsoleAssets } from '../../gateways/console/console-assets.ts';
import { ConsoleService } from '../../gateways/console/console-service.ts';
import { ConsoleSessions } from '../../gateways/console/console-sessions.ts';
import type { ConsoleKey } from '../../storage/keys/console-key-file.ts';
import { PageFiles } from '../../gateways/console/page-files.ts';
import { readRoute, type AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { CookieSessions, Operators } from '../../gateways/ops/operators.ts';
import type { RefusedCredentials } from '../../gateways/ops/refused-credentials.ts';
import type { PageRoutes } from '../../gateways/ops/ops-listener.ts';
import { FigureHistory } from '../../telemetry/figure-history.ts';
import { settingsRoute } from '../config/settings-route.ts';
import type { ServerContext } from './server-context.ts';

export interface OperatorConsoleDeps extends Pick<
  ServerContext,
  'clock' | 'log' | 'settings' | 'configured' | 'sharers' | 'metrics'
> {
  /** Null: the console is off. */
  readonly consoleKey: ConsoleKey | null;
  readonly operators: Operators;
  readonly refusals: RefusedCredentials;
}

export class OperatorConsole {
  readonly sessions: CookieSessions | null;
  readonly pages: readonly PageRoutes[];
  /** Also serves the page of a call, which needs no console. */
  readonly files = new PageFiles(loadConsoleAssets);
  readonly routes: readonly AdminRoute[];
  readonly #figures: FigureHistory | null;
  #stopFigures: Cancel = () => undefined;

  constructor(deps: OperatorConsoleDeps) {
    const { clock, consoleKey, operators, metrics: exposition } = deps;
    const sessions = consoleKey === null ? null : new ConsoleSessions(clock, operators, consoleKey);
    this.sessions = sessions;
    const { files } = this;
    this.pages = [files, ...(sessions === null ? [] : [new ConsoleService({ ...deps, files, sessions })])];
    this.#figures = sessions === null ? null : new FigureHistory({ clock, exposition });
    this.routes = [settingsRoute(deps), ...(this.#figures === null ? [] : [figuresRoute(this.#figures)])];
  }

  /** Starts sampling figures. */
  start(): void {
    if (this.#figures !== null) this.#stopFigures = this.#figures.start();
  }

  stop(): void {
    this.#stopFigures();
  }
}

const figuresQuery = z.strictObject({ after: z.coerce.number().int().nonnegative().default(0) });

/** `GET /v1/figures`: figures of the last hour, or those after the `next` of an earlier answer. */
function figuresRoute(history: FigureHistory): AdminRoute {
  return readRoute('/v1/figures', figuresQuery, async ({ after }) => history.read(after));
}
