(define (square x)
  (* x x))

(define (sum-of-squares a b)
  (+ (square a) (square b)))

(let ((total (sum-of-squares 3 4)))
  (if (= total 25)
      (display "right")
      (error "wrong" total)))