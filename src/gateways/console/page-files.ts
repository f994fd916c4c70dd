/**
 * The files of the ops listener's page, for operators and viewers of a call, with a content security policy: no inline code, no
 * foreign origins, and media origins only where a call is shown.
 */
import etag from '@fastify/etag';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { consoleFiles, type ConsoleAssets, type ConsoleFile } from './console-assets.ts';

const assetNames = ['console.css', 'console.js', 'icon.svg'] as const satisfies readonly ConsoleFile[];

export class PageFiles {
  readonly #loadAssets: () => Promise<ConsoleAssets>;
  /** Null: not requested yet, or the last build failed. */
  #assets: Promise<ConsoleAssets> | null = null;

  constructor(loadAssets: () => Promise<ConsoleAssets>) {
    this.#loadAssets = loadAssets;
  }

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

/** Adds the headers to every answer. `mediaOrigins`: allowed sources of pictures and sound. */
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
