/** A whole number with commas between its thousands. */
export const groupThousands = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ',')
