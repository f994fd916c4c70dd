/** Events of a fake, which a test awaits without a clock. */
import { EventEmitter, once } from 'node:events';

export class Happenings {
  readonly #events = new EventEmitter().setMaxListeners(0);

  readonly happened = (): void => {
    this.#events.emit('happened');
  };

  /** Resolves when `isSo` returns true; evaluates it at every event. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await once(this.#events, 'happened');
  }

  /** Resolves to the item that arrived as number `count`. */
  protected async nth<Item>(items: readonly Item[], count: number): Promise<Item> {
    await this.until(() => items.length >= count);
    const item = items[count - 1];
    if (item === undefined) throw new Error('there is none');
    return item;
  }
}
