/** A long list, of which only what is in sight is there. Each item is measured once it is there; until then its height is estimated. */
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks'
import { Heights } from './heights.ts'

interface VirtualItem {
  readonly index: number
  readonly key: string | number
  /** Where it begins, in pixels from the top of the list. */
  readonly start: number
}

interface VirtualList {
  readonly items: readonly VirtualItem[]
  readonly height: number
  /** For the `ref` of each item, which has its index as `data-index`. */
  readonly measure: (element: Element | null) => void
  /** Bring an item to the top. */
  readonly scrollTo: (index: number) => void
  /** Bring a place that the list was scrolled to before into sight, in pixels, once the list is that high. */
  readonly scrollToOffset: (top: number) => void
  /** What scrolls. */
  readonly element: () => HTMLElement | null
}

/** On paper nothing scrolls: so many items are there. */
const mostPrinted = 5000
/** Beyond what is in sight, so many pixels are there too. */
const margin = 600
/** So long an item that was scrolled to stays at the top while others above it are measured. */
const settleMs = 400

/** What scrolls: the list's own element, or on a narrow screen the one around it. */
const scrollerOf = (own: HTMLElement | null): HTMLElement | null =>
  own !== null && getComputedStyle(own).overflowY === 'visible' ? own.parentElement : own

/** Where the list begins in what scrolls, in pixels. */
const startIn = (scroller: HTMLElement, own: HTMLElement | null): number =>
  own === null || own === scroller
    ? 0
    : own.getBoundingClientRect().top - scroller.getBoundingClientRect().top + scroller.scrollTop

export const useVirtual = ({
  count,
  scroller,
  estimate,
  keyOf,
  version,
}: {
  readonly count: number
  readonly scroller: () => HTMLElement | null
  readonly estimate: (index: number) => number
  readonly keyOf: (index: number) => string | number
  /** Changes when items change places. */
  readonly version?: unknown
}): VirtualList => {
  const [, render] = useReducer((rounds: number) => rounds + 1, 0)
  const measured = useRef(new Map<string | number, number>())
  const heights = useMemo(
    () => new Heights(count, (index) => measured.current.get(keyOf(index)) ?? estimate(index)),
    [count, version],
  )
  const latest = useRef({ heights, keyOf })
  latest.current = { heights, keyOf }
  const target = useRef<{ readonly index: number; readonly until: number } | undefined>(undefined)
  const observed = useRef(new Set<Element>())
  const observer = useMemo(
    () =>
      new ResizeObserver((entries) => {
        const { heights, keyOf } = latest.current
        const element = scrollerOf(scroller())
        const top = element === null ? 0 : element.scrollTop - startIn(element, scroller())
        let above = 0
        let changed = false
        for (const { target: item, borderBoxSize } of entries) {
          const index = Number((item as HTMLElement).dataset['index'])
          const height = borderBoxSize[0]?.blockSize ?? 0
          if (!item.isConnected || height === 0) {
            observer.unobserve(item)
            observed.current.delete(item)
            continue
          }
          const start = heights.startOf(index)
          measured.current.set(keyOf(index), height)
          const change = heights.set(index, height)
          changed ||= change !== 0
          if (start + height <= top) above += change
        }
        if (!changed) return
        // What is in sight stays where it is.
        if (element !== null && target.current === undefined && above !== 0) element.scrollTop += above
        render(undefined as never)
      }),
    [],
  )
  const element = scrollerOf(scroller())
  const [top, view] = [
    element === null ? 0 : element.scrollTop - startIn(element, scroller()),
    element?.clientHeight ?? 800,
  ]
  const items: VirtualItem[] = []
  const [printing, setPrinting] = useState(false)
  useEffect(() => {
    const before = (): void => setPrinting(true)
    const after = (): void => setPrinting(false)
    addEventListener('beforeprint', before)
    addEventListener('afterprint', after)
    return () => {
      removeEventListener('beforeprint', before)
      removeEventListener('afterprint', after)
    }
  }, [])
  if (printing)
    for (let index = 0; index < Math.min(count, mostPrinted); index++)
      items.push({ index, key: keyOf(index), start: 0 })
  else if (count > 0) {
    const first = heights.at(Math.max(0, top - margin))
    let start = heights.startOf(first)
    for (let index = first; index < count && start < top + view + margin; index++) {
      items.push({ index, key: keyOf(index), start })
      start += heights.of(index)
    }
  }
  useLayoutEffect(() => {
    const gone = new AbortController()
    const listening = { capture: true, passive: true, signal: gone.signal }
    const element = scroller()
    if (element === null) return undefined
    const resized = new ResizeObserver(() => render(undefined as never))
    for (const target of [element, element.parentElement]) if (target !== null) resized.observe(target)
    // Which element scrolls depends on the width.
    const scrolled = ({ target: scroller }: Event): void =>
      void (scroller === scrollerOf(element) && render(undefined as never))
    const releaseTarget = (): void => void (target.current = undefined) // the reader scrolls
    document.addEventListener('scroll', scrolled, listening)
    for (const event of ['wheel', 'touchmove', 'pointerdown'] as const)
      document.addEventListener(event, releaseTarget, listening)
    render(undefined as never)
    return () => {
      resized.disconnect()
      observer.disconnect()
      gone.abort()
    }
  }, [])
  // The list is as high as it will be now: an item can be brought to the top.
  useLayoutEffect(() => {
    const { current } = target
    if (current === undefined) return
    if (performance.now() > current.until) target.current = undefined
    const element = scrollerOf(scroller())
    if (element === null) return
    const wanted = Math.round(heights.startOf(current.index) + startIn(element, scroller()))
    if (Math.abs(element.scrollTop - wanted) > 1) element.scrollTop = wanted
  })
  return {
    items,
    height: heights.startOf(count),
    measure: (item) => {
      if (item === null || observed.current.has(item)) return
      observed.current.add(item)
      observer.observe(item)
    },
    element: () => scrollerOf(scroller()),
    scrollToOffset: (top) => {
      const element = scrollerOf(scroller())
      if (element !== null) element.scrollTop = top
      render(undefined as never)
    },
    scrollTo: (index) => {
      target.current = { index, until: performance.now() + settleMs }
      render(undefined as never)
    },
  }
}
