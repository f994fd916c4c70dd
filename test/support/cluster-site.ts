/**
 * Several nodes as real processes on one NATS, each with its own data directory and, if a test cuts it off, its own relay to
 * NATS.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NatsRelay } from './nats-relay.ts';
import type { NatsServer } from './nats-server.ts';
import { SiteServer, siteRegistry, type SiteRegistry } from './site-server.ts';
import { temporaryDirectory, type Ending } from './temporary-store.ts';

export interface SiteOptions extends SiteRegistry {
  readonly nats: readonly NatsServer[];
  readonly nodes: readonly string[];
  /** Each node has its own relay to NATS, which a test can cut. Only with one NATS server. */
  readonly relayed?: boolean;
  readonly overrides?: readonly string[];
}

export class SiteNode extends SiteServer {
  readonly relay: NatsRelay | null;

  constructor(t: Ending, directory: string, settings: readonly string[], relay: NatsRelay | null) {
    super(t, directory, settings);
    this.relay = relay;
  }
}

export class ClusterSite {
  readonly nodes: SiteNode[] = [];
  readonly #t: Ending;
  readonly #directory: string;
  readonly #options: SiteOptions;

  private constructor(t: Ending, directory: string, options: SiteOptions) {
    this.#t = t;
    this.#directory = directory;
    this.#options = options;
  }

  get registryFile(): string {
    return join(this.#directory, 'registry.json');
  }

  static async start(t: Ending, options: SiteOptions): Promise<ClusterSite> {
    const directory = temporaryDirectory(t);
    const site = new ClusterSite(t, directory, options);
    await writeFile(site.registryFile, JSON.stringify(siteRegistry(options)));
    // The first node imports the registry; the others mirror it.
    for (const name of options.nodes) await site.add(name);
    return site;
  }

  async add(name: string, more: readonly string[] = []): Promise<SiteNode> {
    const { nats, relayed = false, overrides = [] } = this.#options;
    const relay = relayed ? await NatsRelay.open(this.#t, nats[0]?.port ?? 0) : null;
    const settings = [
      `cluster.nats_url=${relay?.url ?? nats.map((server) => server.url).join(',')}`,
      `cluster.node_name=${name}`,
      `cluster.replicas=${nats.length}`,
      `registry.file=${this.registryFile}`,
      ...overrides,
      ...more,
    ];
    const node = new SiteNode(this.#t, join(this.#directory, name), settings, relay);
    this.nodes.push(node);
    await node.start();
    return node;
  }

  node(index: number): SiteNode {
    const node = this.nodes[index];
    assert.ok(node !== undefined, `the site has no node ${index}`);
    return node;
  }
}
