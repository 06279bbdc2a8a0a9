import numpy as np, math, time
from numba import njit
from toplist.randomness import branch, toss
O=dict(nogil=True,_nrt=False,error_model="numpy")
@njit(**O)
def pick(score, K, key, chosen):
    L=len(score); filled=0
    for i in range(L):
        v=score[i]
        if filled==K:
            w=chosen[K-1]
            if v<score[w] or (v==score[w] and branch(key,i)<=branch(key,w)): continue
        else: filled+=1
        p=filled-1
        while p>0 and (score[chosen[p-1]]<v or (score[chosen[p-1]]==v and branch(key,i)>branch(key,chosen[p-1]))):
            chosen[p]=chosen[p-1]; p-=1
        chosen[p]=i
@njit(**O)
def ucb1(att,K,seed,n,T,S,score,chosen):
    L=len(att); choices=branch(seed,0); vis=branch(seed,1); k0=branch(branch(vis,-1),0)
    for i in range(L):
        T[i]=1.; S[i]=1. if toss(k0,i,att[i]) else 0.
    ideal=1.
    for k in range(K): ideal*=1-att[k]
    regret=0.
    for t in range(n):
        b=1.5*math.log(max(1,t))
        for i in range(L): score[i]=S[i]/T[i]+math.sqrt(b/T[i])
        pick(score,K,branch(choices,t),chosen)
        v=branch(vis,t); none=1.
        for k in range(K): none*=1-att[chosen[k]]
        regret+=none-ideal
        for k in range(K):
            i=chosen[k]; T[i]+=1.
            if toss(v,i,att[i]):
                S[i]+=1.; break
    return regret
@njit(**O)
def klucb(att,K,seed,n,T,S,q,ent,score,chosen):
    L=len(att); choices=branch(seed,0); vis=branch(seed,1); k0=branch(branch(vis,-1),0)
    for i in range(L):
        T[i]=1.; S[i]=1. if toss(k0,i,att[i]) else 0.; q[i]=.5; ent[i]=0.
    ideal=1.
    for k in range(K): ideal*=1-att[k]
    regret=0.
    for t in range(n):
        l=math.log(t+1.); c=l+3*math.log(l) if l>1 else l
        for i in range(L):
            p=S[i]/T[i]; D=c/T[i]
            if p>=1.: score[i]=1.; continue
            if p<=0.: score[i]=1-math.exp(-D); continue
            if D<=0: score[i]=p; continue
            x=q[i]
            if x<=p or x>=1: x=min(p+math.sqrt(D*.5),(1+p)*.5)
            for _ in range(50):
                f=ent[i]-p*math.log(x)-(1-p)*math.log(1-x)-D
                step=f*x*(1-x)/(x-p)
                y=x-step
                if y<=p: y=.5*(x+p)
                elif y>=1: y=.5*(x+1)
                x=y
                if abs(step)<1e-9: break
            q[i]=x; score[i]=x
        pick(score,K,branch(choices,t),chosen)
        v=branch(vis,t); none=1.
        for k in range(K): none*=1-att[chosen[k]]
        regret+=none-ideal
        for k in range(K):
            i=chosen[k]; T[i]+=1.
            hit=toss(v,i,att[i])
            if hit: S[i]+=1.
            p=S[i]/T[i]; ent[i]=p*math.log(p)+(1-p)*math.log(1-p) if 0<p<1 else 0.
            if hit: break
    return regret
def run(f,L,K,n,seed=1):
    att=np.where(np.arange(L)<K,.2,.2-.15); z=lambda:np.zeros(L)
    args=(att,K,seed,n,z(),z())+((z(),z()) if f is klucb else ())+(z(),np.zeros(K,np.int64))
    t=time.process_time(); r=f(*args); return r,time.process_time()-t
if __name__=="__main__":
    run(ucb1,4,2,10); run(klucb,4,2,10)
    for (L,K,n) in ((16,4,300000),(32,8,200000),(1000,10,50000),(100000,10,200)):
        for f in (ucb1,klucb):
            r=run(f,L,K,n); print(L,K,f.py_func.__name__,r[0],n/r[1]/1e6)
