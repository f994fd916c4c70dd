/** Several nodes, each with a store of its own, and what they have in common: in memory or over NATS. */
import type { JoinGround } from './node-ground.ts';
import type { RecordsSite, SiteMember } from './records-site.ts';
import { SiteNode, type Displace } from './site-node.ts';
import type { Ending } from './temporary-store.ts';

export class NodesSite implements RecordsSite {
  readonly nodes: SiteNode[] = [];
  readonly #lost = new Set<SiteMember>();

  static async start(t: Ending, join: JoinGround, count: number): Promise<NodesSite> {
    const site = new NodesSite();
    const supersede: Displace = (member, slot) =>
      site.#living.find((one) => one.member.id === member)?.member.lost(slot);
    const names = Array.from({ length: count }, (_, number) => `node-${number + 1}`);
    site.nodes.push(...(await Promise.all(names.map((name) => SiteNode.start(t, join, name, supersede)))));
    return site;
  }

  get members(): readonly SiteMember[] {
    return this.nodes.map(({ member }) => member);
  }

  async settled(): Promise<void> {
    await Promise.all(this.#living.map((node) => node.shared()));
    await Promise.all(this.#living.map((node) => node.mirrored()));
  }

  async heard(): Promise<void> {
    await this.settled();
    await Promise.all(this.#living.map((node) => node.heard()));
  }

  async lose(lost: SiteMember): Promise<void> {
    this.#lost.add(lost);
    await this.nodes.find(({ member }) => member === lost)?.vanish();
    await Promise.all(this.#living.map((node) => node.failOver(lost.id)));
    await this.settled();
  }

  get #living(): readonly SiteNode[] {
    return this.nodes.filter(({ member }) => !this.#lost.has(member));
  }
}
