/** A long list of messages that scrolls by itself. */
import type { ComponentChildren, VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { useVirtual } from './virtual.ts'

interface VirtualFeedProps<T> {
  readonly label: string
  readonly items: readonly T[]
  /** About how high an item is, in pixels. */
  readonly estimate: number
  readonly keyOf: (item: T, index: number) => string | number
  readonly classOf: (item: T, index: number) => string
  readonly render: (item: T, index: number) => VNode
  /** What stands below the list. */
  readonly children?: ComponentChildren
}

export const VirtualFeed = <T,>({
  label,
  items,
  estimate,
  keyOf,
  classOf,
  render,
  children,
}: VirtualFeedProps<T>): VNode => {
  const scroller = useRef<HTMLDivElement>(null)
  const list = useVirtual({
    count: items.length,
    scroller: () => scroller.current,
    estimate: () => estimate,
    keyOf: (index) => keyOf(items[index] as T, index),
    version: items,
  })
  return (
    <div class="scroll" ref={scroller} tabIndex={0} role="region" aria-label={label}>
      <div class="feed" role="list" style={{ height: `${list.height}px` }}>
        {list.items
          .filter(({ index }) => index < items.length)
          .map(({ index, key, start }) => (
            <div
              key={key}
              ref={list.measure}
              data-index={index}
              role="listitem"
              class={`item ${classOf(items[index] as T, index)}`}
              style={{ transform: `translateY(${start}px)` }}
            >
              {render(items[index] as T, index)}
            </div>
          ))}
      </div>
      {children}
    </div>
  )
}
