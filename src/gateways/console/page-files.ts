/**
 * The files of the one page that the ops listener has, for operators and for viewers of a call, and the policy under which a
 * browser runs them: nothing inline, nothing of others, and media of a call only where a call is shown.
 */
import etag from '@fastify/etag';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { consoleFiles, type ConsoleAssets, type ConsoleFile } from './console-assets.ts';

const assetNames = ['console.css', 'console.js', 'icon.svg'] as const satisfies readonly ConsoleFile[];

export class PageFiles {
  readonly #loadAssets: () => Promise<ConsoleAssets>;
  /** Null: no file has been requested yet, or they could not be made. */
  #assets: Promise<ConsoleAssets> | null = null;

  constructor(loadAssets: () => Promise<ConsoleAssets>) {
    this.#loadAssets = loadAssets;
  }

  /** The script, the style and the icon of the page. */
  async register(app: FastifyInstance): Promise<void> {
    restrictPages(app);
    await app.register(etag);
    for (const name of assetNames)
      app.get(`/console/${name}`, { config: { access: 'page' } }, (_request, reply) =>
        this.send(name, reply),
      );
  }

  async send(name: ConsoleFile, reply: FastifyReply): Promise<FastifyReply> {
    const text = (await this.#load())[name];
    return reply.header('Cache-Control', 'no-cache').type(consoleFiles[name]).send(text);
  }

  #load(): Promise<ConsoleAssets> {
    if (this.#assets === null) {
      this.#assets = this.#loadAssets();
      this.#assets.catch(() => (this.#assets = null));
    }
    return this.#assets;
  }
}

/** Adds the headers to every answer. `mediaOrigins`: those from which the page may load pictures and sound now. */
export function restrictPages(app: FastifyInstance, mediaOrigins: () => readonly string[] = () => []): void {
  app.addHook('onRequest', async (_request, reply) => {
    const media = mediaOrigins()
      .map((origin) => ` ${origin}`)
      .join('');
    const policy = [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      `img-src 'self'${media}`,
      `connect-src 'self'${media}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ];
    void reply.headers({
      'Content-Security-Policy': policy.join('; '),
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
    });
  });
}
